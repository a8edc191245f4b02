import { type Resource, resources } from '../kube/index.ts'
import { agentCommand, agentPod } from './install-agent.ts'
import {
  agentName,
  commonLabels,
  controllerName,
  type Manifest,
  manifest,
  type Placement,
  selectorLabels,
} from './install-names.ts'
import { type ProfilesSettings, profilesPod, profilesPort } from './install-profiles.ts'

/** The programs as pods. `charts/fettle/templates` says the same in Helm's words; a test compares them. */
export interface WorkloadSettings extends Placement {
  readonly image: string
  readonly replicas: number
  /** Nodes that the controller may run on; the agent runs on all. */
  readonly nodeSelector: Readonly<Record<string, string>>
  /** Further arguments of the agent, as `fettle agent --help` shows them. */
  readonly agentArgs: readonly string[]
  /** Maintenance profiles; without them nothing of theirs is made. */
  readonly profiles?: ProfilesSettings
  /** TCP ports that the controller may reach besides the usual ones. */
  readonly controllerPorts?: readonly number[]
  /** Instead of the address that the cluster tells its pods. */
  readonly apiServer?: { readonly host: string; readonly port: number }
}

/** A bundle of its own: what people type is not in the controller's memory. */
const controllerCommand = ['/usr/local/bin/node', '/usr/lib/fettle/fettle-controller.js']

export const networkPolicies: Resource = {
  group: 'networking.k8s.io',
  version: 'v1',
  plural: 'networkpolicies',
  kind: 'NetworkPolicy',
  namespaced: true,
}

const controllerPort = 8080
const usualPorts = [25, 53, 465, 587, 9090]
const agentPort = 8081

export function workloadManifests(settings: WorkloadSettings): Manifest[] {
  return [
    networkPolicy(
      settings,
      'controller',
      [{ ports: tcp([controllerPort, ...(settings.profiles ? [profilesPort] : [])]) }],
      controllerEgress(settings),
    ),
    // The kubelet may always ask; nobody else has to.
    networkPolicy(settings, 'agent', [], []),
    manifest(
      resources.podDisruptionBudgets,
      metadataOf(settings, 'controller'),
      // A controller that is not ready must never keep a node from being drained.
      {
        spec: {
          maxUnavailable: 1,
          selector: { matchLabels: selectorLabels('controller') },
          unhealthyPodEvictionPolicy: 'AlwaysAllow',
        },
      },
    ),
    controllerDeployment(settings),
    agentDaemonSet(settings),
  ]
}

function controllerDeployment(settings: WorkloadSettings): Manifest {
  const labels = selectorLabels('controller')
  const profiles = profilesPod(settings.profiles)
  return manifest(resources.deployments, metadataOf(settings, 'controller'), {
    spec: {
      replicas: settings.replicas,
      revisionHistoryLimit: 3,
      selector: { matchLabels: labels },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: {
        metadata: { labels },
        spec: {
          ...podDefaults(controllerName),
          affinity: nodeAffinity,
          ...(Object.keys(settings.nodeSelector).length > 0 ? { nodeSelector: settings.nodeSelector } : {}),
          priorityClassName: 'system-cluster-critical',
          tolerations: [
            { key: 'node-role.kubernetes.io/control-plane', operator: 'Exists', effect: 'NoSchedule' },
            // Five minutes by default; a leader on a dead node is replaced sooner, so its pod should be, too.
            ...['not-ready', 'unreachable'].map((state) => ({
              key: `node.kubernetes.io/${state}`,
              operator: 'Exists',
              effect: 'NoExecute',
              tolerationSeconds: 30,
            })),
          ],
          topologySpreadConstraints: [
            { topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'DoNotSchedule' },
            { topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway' },
          ].map((constraint) => ({
            maxSkew: 1,
            ...constraint,
            labelSelector: { matchLabels: labels },
            // Each version is spread for itself, else the pods that it replaces take the places.
            matchLabelKeys: ['pod-template-hash'],
            // A node that is out of service is no place to wait for.
            nodeTaintsPolicy: 'Honor',
          })),
          containers: [
            {
              name: 'controller',
              image: settings.image,
              imagePullPolicy: 'IfNotPresent',
              command: controllerCommand,
              args: [
                'controller',
                `--http-port=${controllerPort}`,
                `--lease-name=${controllerName}`,
                '--lease-seconds=15',
                '--log-level=info',
                ...profiles.args,
              ],
              env: environment(settings, ['POD_NAME', 'POD_NAMESPACE']),
              ports: [{ name: 'http', containerPort: controllerPort, protocol: 'TCP' }, ...profiles.ports],
              ...probes('/readyz'),
              resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } },
              securityContext: containerSecurity,
              ...profiles.container,
            },
          ],
          ...profiles.pod,
        },
      },
    },
  })
}

function agentDaemonSet(settings: WorkloadSettings): Manifest {
  const pod = agentPod(settings.agentArgs)
  const { securityContext: _, ...defaults } = podDefaults(agentName)
  return manifest(resources.daemonSets, metadataOf(settings, 'agent'), {
    spec: {
      revisionHistoryLimit: 3,
      selector: { matchLabels: selectorLabels('agent') },
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '10%' } },
      template: {
        metadata: { labels: selectorLabels('agent') },
        spec: {
          ...defaults,
          // It writes files that belong to root, and speaks to the first process of the host.
          securityContext: { runAsUser: 0, runAsGroup: 0, seccompProfile: { type: 'RuntimeDefault' } },
          hostPID: pod.hostPID,
          affinity: nodeAffinity,
          priorityClassName: 'system-node-critical',
          tolerations: [{ operator: 'Exists' }],
          containers: [
            {
              name: 'agent',
              image: settings.image,
              imagePullPolicy: 'IfNotPresent',
              command: agentCommand,
              args: ['agent', `--http-port=${agentPort}`, '--log-level=info', ...pod.args],
              env: environment(settings, ['POD_NAME']),
              ports: [{ name: 'http', containerPort: agentPort, protocol: 'TCP' }],
              ...probes('/readyz'),
              resources: { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '128Mi' } },
              securityContext: pod.securityContext,
              volumeMounts: pod.volumeMounts,
            },
          ],
          volumes: pod.volumes,
        },
      },
    },
  })
}

function networkPolicy(
  settings: Placement,
  component: string,
  ingress: readonly object[],
  egress: readonly object[],
): Manifest {
  return manifest(networkPolicies, metadataOf(settings, component), {
    spec: {
      podSelector: { matchLabels: selectorLabels(component) },
      policyTypes: ['Ingress', 'Egress'],
      ingress,
      // The API server is no pod that could be named; its usual ports are.
      egress: [{ ports: tcp([443, 6443]) }, ...egress],
    },
  })
}

function controllerEgress({ profiles, controllerPorts = [] }: WorkloadSettings): object[] {
  const ports = tcp([...new Set([...usualPorts, ...controllerPorts])])
  return [
    // Names, Prometheus and mail servers, for blockers, profiles and notifications.
    { ports: [{ port: 53, protocol: 'UDP' }, ...ports] },
    // A replica that does not lead asks the one that does.
    ...(profiles
      ? [{ to: [{ podSelector: { matchLabels: selectorLabels('controller') } }], ports: tcp([controllerPort]) }]
      : []),
  ]
}

function tcp(ports: readonly number[]): object[] {
  return ports.map((port) => ({ port, protocol: 'TCP' }))
}

function metadataOf(settings: Placement, component: string) {
  return { name: `fettle-${component}`, namespace: settings.namespace, labels: commonLabels(settings, component) }
}

function podDefaults(serviceAccountName: string) {
  return {
    serviceAccountName,
    automountServiceAccountToken: true,
    enableServiceLinks: false,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 65532,
      runAsGroup: 65532,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    terminationGracePeriodSeconds: 30,
  }
}

const containerSecurity = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  readOnlyRootFilesystem: true,
}

/** Simulated nodes would say that they run the pod, and run nothing. */
const nodeAffinity = {
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [
        {
          matchExpressions: [
            { key: 'kubernetes.io/os', operator: 'In', values: ['linux'] },
            { key: 'fettle.dev/simulated', operator: 'DoesNotExist' },
          ],
        },
      ],
    },
  },
}

const fieldPaths = { POD_NAME: 'metadata.name', POD_NAMESPACE: 'metadata.namespace' }

function environment({ apiServer }: WorkloadSettings, names: readonly (keyof typeof fieldPaths)[]) {
  return [
    ...names.map((name) => ({ name, valueFrom: { fieldRef: { fieldPath: fieldPaths[name] } } })),
    ...(apiServer
      ? [
          { name: 'KUBERNETES_SERVICE_HOST', value: apiServer.host },
          { name: 'KUBERNETES_SERVICE_PORT', value: String(apiServer.port) },
        ]
      : []),
  ]
}

function probes(readyPath: string) {
  return {
    livenessProbe: {
      httpGet: { path: '/healthz', port: 'http' },
      initialDelaySeconds: 5,
      periodSeconds: 10,
      timeoutSeconds: 3,
    },
    readinessProbe: { httpGet: { path: readyPath, port: 'http' }, periodSeconds: 5, timeoutSeconds: 3 },
  }
}
