import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { resources } from '../../src/kube/index.ts'
import { repository } from './fettle-process.ts'
import type { RealCluster } from './real-cluster.ts'
import { hostProgram, patiently, permissionFile, type RealHost } from './real-host.ts'
import { goThroughBothTurns, type Machine } from './two-turns.ts'

const folder = '/var/lib/die-at-act'
const dieAtAct = readFileSync(join(repository, 'test/fixtures/scripts/die-at-act.cjs'), 'utf8')
const bootsFile = `${folder}/boots`
const noteBoot = `#!/bin/sh\ncat /proc/sys/kernel/random/boot_id >>${bootsFile}\n`

/** From now on the agents of all machines die at the act that they are told. */
export async function letAgentsDie(cluster: RealCluster, hosts: readonly RealHost[]): Promise<void> {
  for (const host of hosts) {
    await host.write(`${folder}/die-at-act.cjs`, dieAtAct)
    await host.startUnit('note-boot', noteBoot, { isKept: true })
  }
  const agents = { name: 'fettle-agent', namespace: 'fettle-system' }
  const value = { name: 'NODE_OPTIONS', value: `--require=/host${folder}/die-at-act.cjs` }
  const body = [{ op: 'add', path: '/spec/template/spec/containers/0/env/-', value }] as const
  await cluster.admin.patch(resources.daemonSets, agents, { type: 'json', body })
  await cluster.kubectl('rollout', 'status', `daemonset/${agents.name}`, '--namespace', agents.namespace)
}

export interface RealCrash {
  /** The act before which the agent was killed; none if it was done before it came to that many. */
  readonly diedBefore: string | undefined
  readonly acts: readonly string[]
  readonly problems: readonly string[]
}

/** Both turns of a real node, whose agent is killed by SIGKILL before its act of this number. */
export async function dieOnce({ admin }: RealCluster, host: RealHost, at: number): Promise<RealCrash> {
  await host.sh(`rm -f ${folder}/acts ${folder}/died ${bootsFile}; echo ${at} >${folder}/at`)
  const read = (name: string) => host.sh(`cat ${folder}/${name} 2>/dev/null || true`)
  const lines = async (name: string) => (await read(name)).split('\n').filter((line) => line !== '')
  let problems: string[]
  try {
    problems = await goThroughBothTurns(admin, host.name, machineOf(host), patiently)
  } catch (cause) {
    const acts = (await lines('acts')).join(', ')
    throw new Error(`${host.name} does not come home when its agent dies before act ${at} of: ${acts}`, { cause })
  }
  const boots = await lines('boots')
  if (boots.length !== 2) problems.push(`the machine booted ${boots.length} times, and should have twice`)
  const [diedBefore] = await lines('died')
  return { diedBefore, acts: await lines('acts'), problems }
}

function machineOf(host: RealHost): Machine {
  return {
    ask: async (script) => void (await host.sh(`${hostProgram} request ${script}`)),
    wantReboot: async (script) =>
      void (await host.sh(`systemd-run --quiet --collect ${hostProgram} wait ${script} --for reboot`)),
    finish: async (script) => void (await host.sh(`${hostProgram} done ${script}`)),
    needReboot: async () => void (await host.sh('touch /run/reboot-required')),
    isPermitted: async () => host.has(permissionFile),
    bootID: () => host.bootID(),
  }
}
