import { expect } from 'vitest'
import {
  budgetName,
  type MaintenanceBudget,
  type MaintenanceRequest,
  maintenanceBudgets,
  maintenanceRequests,
} from '../../src/api/index.ts'
import { type KubeClient, type NodeObject, type PodObject, resources } from '../../src/kube/index.ts'
import { eventually } from './e2e-cluster.ts'
import { listOf, patient } from './queue-cluster.ts'

type Patience = Parameters<typeof eventually>[1]

/** What a script, a package manager and a bystander do on a machine, whatever it is made of. */
export interface Machine {
  /** A script asks for maintenance. */
  ask(script: string): Promise<void>
  /** It asks for a reboot in the middle of its work. */
  wantReboot(script: string): Promise<void>
  /** It is done, and nobody asks any more. */
  finish(script: string): Promise<void>
  /** Something was installed that needs a reboot. */
  needReboot(): Promise<void>
  isPermitted(): Promise<boolean>
  bootID(): Promise<string>
}

/** What a script on a node may count on: its node has a slot, is cordoned, and nothing that could be evicted is left. */
export async function outOfService(admin: KubeClient, node: string): Promise<string[]> {
  const { status } = await admin.get<MaintenanceBudget>(maintenanceBudgets, { name: budgetName })
  const { spec } = await admin.get<NodeObject>(resources.nodes, { name: node })
  const pods = await listOf<PodObject>(admin, resources.pods, { fieldSelector: `spec.nodeName=${node}` })
  const left = pods.filter(({ metadata }) => !metadata.ownerReferences?.some(({ kind }) => kind === 'DaemonSet'))
  return [
    ...(status?.slots.some((slot) => slot.node === node) ? [] : [`${node} works without a slot`]),
    ...(spec?.unschedulable ? [] : [`${node} works without a cordon`]),
    ...left.map(({ metadata }) => `${node} works, and pod ${metadata.name} is still there`),
  ]
}

/** All is over, and nothing of it is left on the node, on the machine and in the ledger. */
async function untilIdle(admin: KubeClient, node: string, machine: Machine, patience: Patience): Promise<void> {
  await eventually(async () => {
    const requests = await listOf<MaintenanceRequest>(admin, maintenanceRequests, {
      fieldSelector: `spec.nodeName=${node}`,
    })
    const open = requests.filter(({ status }) => status?.phase !== 'Done')
    expect(open.map(({ metadata, status }) => ({ name: metadata.name, ...status, history: undefined }))).toEqual([])
    const { metadata, spec } = await admin.get<NodeObject>(resources.nodes, { name: node })
    expect(spec?.unschedulable ?? false).toBe(false)
    expect(Object.keys(metadata.annotations ?? {}).filter((key) => key.startsWith('cordon.fettle.dev/'))).toEqual([])
    expect(await machine.isPermitted()).toBe(false)
    const { status } = await admin.get<MaintenanceBudget>(maintenanceBudgets, { name: budgetName })
    expect(status?.slots.filter((slot) => slot.node === node)).toEqual([])
  }, patience)
}

/**
 * Two turns of a node, on any kind of machine: a script that needs a reboot in the middle of its work, and then a reboot
 * that the machine itself needs. Somebody runs agent and queue meanwhile, and may kill them. Answers what went wrong.
 */
export async function goThroughBothTurns(
  admin: KubeClient,
  node: string,
  machine: Machine,
  patience: Patience = patient,
): Promise<string[]> {
  const script = 'upgrade'
  const untilPermitted = () =>
    eventually(async () => expect(await machine.isPermitted(), `permission on ${node}`).toBe(true), patience)
  const untilLeft = (boot: string) =>
    eventually(async () => expect(await machine.bootID(), `boot of ${node}`).not.toBe(boot), patience)
  await machine.ask(script)
  await untilPermitted()
  const problems = await outOfService(admin, node)
  const first = await machine.bootID()
  await machine.wantReboot(script)
  await untilLeft(first)
  // The script starts again from the top, and finds that it may go on.
  await untilPermitted()
  problems.push(...(await outOfService(admin, node)))
  await machine.finish(script)
  await untilIdle(admin, node, machine, patience)
  const second = await machine.bootID()
  await machine.needReboot()
  await untilLeft(second)
  await untilIdle(admin, node, machine, patience)
  return problems
}
