import { longestReason } from '../api/index.ts'
import { ApiError, type KubeClient } from '../kube/index.ts'

interface SelfSubjectReview {
  readonly status?: { readonly userInfo?: { readonly username?: string } }
}

/** The name that the cluster knows the caller by. Undefined when it does not tell, or tells more than can be recorded. */
export async function userName(client: KubeClient): Promise<string | undefined> {
  try {
    const { status } = await client.request<SelfSubjectReview>({
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
    })
    const name = status?.userInfo?.username
    return name && name.length <= longestReason ? name : undefined
  } catch (error) {
    // Who may not even ask this may still be allowed the thing itself; the record then lacks the name.
    if (error instanceof ApiError) return undefined
    throw error
  }
}
