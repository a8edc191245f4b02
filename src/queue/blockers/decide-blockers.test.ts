import { describe, expect, test } from 'vitest'
import type { Blocker } from '../../api/index.ts'
import type { PodObject } from '../../kube/index.ts'
import { node, request } from '../fixture-world.ts'
import { type Answers, type BlockerViews, blockersNow } from './decide-blockers.ts'

const a = node('a')
const asking = request('r', 'a')

function pod(name: string, phase: string | undefined, more: { nodeName?: string; namespace?: string } = {}): PodObject {
  const { nodeName = 'a', namespace = 'shop' } = more
  return {
    metadata: { name, namespace, labels: { app: 'backup' } },
    spec: { nodeName },
    status: phase ? { phase } : {},
  }
}

function viewOf(pods: readonly PodObject[], more: Partial<BlockerViews> = {}): BlockerViews {
  return {
    nodes: () => [a, node('b')],
    pods: () => pods,
    podsOn: (name) => pods.filter(({ spec }) => spec?.nodeName === name),
    ...more,
  }
}

function pods(more: Partial<NonNullable<Blocker['pods']>> = {}): Blocker {
  return { name: 'backups', pods: { selector: { matchLabels: { app: 'backup' } }, onThisNode: true, ...more } }
}

function condition(more: Partial<NonNullable<Blocker['nodeCondition']>> = {}): Blocker {
  return { name: 'sick', nodeCondition: { type: 'Sick', status: 'True', anyNode: false, ...more } }
}

const hook = (name: string): Blocker => ({ name, hook: { url: 'http://hook', deadline: '5s' } })

describe('pods', () => {
  test.for([
    ['Pending', true],
    ['Running', true],
    ['Unknown', true],
    [undefined, true],
    ['Succeeded', false],
    ['Failed', false],
  ] as const)('in phase %s block: %s', ([phase, blocks]) => {
    const verdict = blockersNow([pods()], viewOf([pod('p', phase)]))(a, asking)
    expect(verdict !== undefined).toBe(blocks)
  })

  test('are named, and the command shows all of them', () => {
    expect(blockersNow([pods()], viewOf([pod('p', 'Running')]))(a, asking)).toEqual({
      message: 'blocker backups: pod shop/p is Running',
      next: "kubectl get pods -A -l 'app=backup' --field-selector spec.nodeName=a",
    })
    const two = viewOf([pod('p', 'Running'), pod('q', 'Pending')])
    expect(blockersNow([pods({ namespaces: ['shop'] })], two)(a, asking)).toEqual({
      message: 'blocker backups: pod shop/p is Running, and it is not the only one',
      next: "kubectl get pods -n shop -l 'app=backup' --field-selector spec.nodeName=a",
    })
  })

  test('on another node block only if anywhere counts', () => {
    const elsewhere = viewOf([pod('p', 'Running', { nodeName: 'b' })])
    expect(blockersNow([pods()], elsewhere)(a, asking)).toBeUndefined()
    expect(blockersNow([pods({ onThisNode: false })], elsewhere)(a, asking)).toEqual({
      message: 'blocker backups: pod shop/p on b is Running',
      next: "kubectl get pods -A -l 'app=backup'",
    })
  })

  test('in other namespaces or with other labels do not block', () => {
    const view = viewOf([pod('p', 'Running')])
    expect(blockersNow([pods({ namespaces: ['bank'] })], view)(a, asking)).toBeUndefined()
    expect(blockersNow([pods({ selector: { matchLabels: { app: 'web' } } })], view)(a, asking)).toBeUndefined()
    expect(blockersNow([pods({ selector: {} })], view)(a, asking)).toMatchObject({
      next: 'kubectl get pods -A --field-selector spec.nodeName=a',
    })
  })

  test('are looked for by every kind of selector, also in the command', () => {
    const matchExpressions = [
      { key: 'app', operator: 'In' as const, values: ['backup', 'restore'] },
      { key: 'tier', operator: 'NotIn' as const, values: ['test'] },
      { key: 'app', operator: 'Exists' as const },
      { key: 'done', operator: 'DoesNotExist' as const },
    ]
    const verdict = blockersNow([pods({ selector: { matchExpressions } })], viewOf([pod('p', 'Running')]))(a, asking)
    expect(verdict).toMatchObject({
      next: "kubectl get pods -A -l 'app in (backup,restore),tier notin (test),app,!done' --field-selector spec.nodeName=a",
    })
  })

  test('that are not known of block', () => {
    const view = viewOf([], { stalePods: 'the view of pods is 90 s old' })
    expect(blockersNow([pods()], view)(a, asking)).toMatchObject({
      message: 'blocker backups cannot be judged: the view of pods is 90 s old',
    })
  })

  test('of the whole cluster are looked at once, however many requests there are', () => {
    let looks = 0
    const counted = viewOf([], {
      pods: () => {
        looks++
        return []
      },
    })
    const blockFor = blockersNow([pods({ onThisNode: false })], counted)
    for (let index = 0; index < 10; index++) expect(blockFor(a, request(`r${index}`, 'a'))).toBeUndefined()
    expect(looks).toBe(1)
  })
})

describe('a condition of a node', () => {
  const having = (name: string, status: string) => ({
    ...node(name),
    status: { conditions: [{ type: 'Sick', status }] },
  })

  test.for([
    ['True', 'True', true],
    ['True', 'False', false],
    ['True', 'Unknown', true],
    ['False', 'False', true],
    ['False', 'True', false],
    ['False', 'Unknown', true],
  ] as const)('that must not be %s and is %s blocks: %s', ([unwanted, status, blocks]) => {
    const verdict = blockersNow([condition({ status: unwanted })], viewOf([]))(having('a', status), asking)
    expect(verdict !== undefined).toBe(blocks)
  })

  test('is named', () => {
    expect(blockersNow([condition()], viewOf([]))(having('a', 'True'), asking)).toEqual({
      message: 'blocker sick: condition Sick of node a is True',
      next: 'kubectl describe node a',
    })
  })

  test('that the node does not have does not block', () => {
    expect(blockersNow([condition()], viewOf([]))(a, asking)).toBeUndefined()
  })

  test('of another node blocks only if any node counts', () => {
    const view = viewOf([], { nodes: () => [a, having('b', 'True')] })
    expect(blockersNow([condition()], view)(a, asking)).toBeUndefined()
    expect(blockersNow([condition({ anyNode: true })], view)(a, asking)).toMatchObject({
      message: 'blocker sick: condition Sick of node b is True',
    })
  })
})

describe('who must be asked', () => {
  const saying = (said: Record<string, ReturnType<Answers['answer']>>): Answers => ({
    answer: ({ name }) => said[name],
  })
  const no = { message: 'no', next: 'wait' }

  test('is unasked as long as there is nobody to ask', () => {
    expect(blockersNow([hook('h')], viewOf([]))(a, asking)).toBe('unasked')
    expect(blockersNow([], viewOf([]))(a, asking)).toBeUndefined()
  })

  test('is not asked when a pod blocks already', () => {
    const answers: Answers = {
      answer: () => {
        throw new Error('asked')
      },
    }
    expect(blockersNow([hook('h'), pods()], viewOf([pod('p', 'Running')]), answers)(a, asking)).toMatchObject({
      message: 'blocker backups: pod shop/p is Running',
    })
  })

  test('blocks by a no of one, is unasked if one was not asked, and passes only with the yes of all', () => {
    const both = [hook('h'), hook('i')]
    expect(blockersNow(both, viewOf([]), saying({ h: 'unasked', i: no }))(a, asking)).toBe(no)
    expect(blockersNow(both, viewOf([]), saying({ h: undefined, i: 'unasked' }))(a, asking)).toBe('unasked')
    expect(blockersNow(both, viewOf([]), saying({}))(a, asking)).toBeUndefined()
  })
})
