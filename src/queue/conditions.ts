interface Condition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
  readonly lastTransitionTime: string
}

/** Sets a condition of a status; the time moves only when its status does. */
export function withCondition<Status extends { readonly conditions?: readonly Condition[] | undefined }>(
  status: Status,
  condition: Omit<NonNullable<Status['conditions']>[number], 'lastTransitionTime'>,
  now: string,
): Status {
  const old = status.conditions?.find(({ type }) => type === condition.type)
  const set = { ...condition, lastTransitionTime: old?.status === condition.status ? old.lastTransitionTime : now }
  const conditions = old
    ? status.conditions?.map((other) => (other === old ? set : other))
    : [...(status.conditions ?? []), set]
  return { ...status, conditions }
}
