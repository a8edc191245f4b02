import { expect, test } from 'vitest'
import { type RenderOptions, render } from './render.ts'

const known: Readonly<Record<string, 'Namespaced' | 'Cluster'>> = {
  'v1 ConfigMap': 'Namespaced',
  'v1 Secret': 'Namespaced',
  'v1 Namespace': 'Cluster',
  'v1 Node': 'Cluster',
  'apps/v1 Deployment': 'Namespaced',
  'autoscaling/v1 HorizontalPodAutoscaler': 'Namespaced',
  'autoscaling/v2 HorizontalPodAutoscaler': 'Namespaced',
  'rbac.authorization.k8s.io/v1 ClusterRole': 'Cluster',
  'apiextensions.k8s.io/v1 CustomResourceDefinition': 'Cluster',
}

const plainOptions: RenderOptions = {
  namespaces: ['shop'],
  scopeOf: (apiVersion, kind) => known[`${apiVersion} ${kind}`],
  clusterKinds: [
    { kind: 'ClusterRole', group: 'rbac.authorization.k8s.io', names: 'shop-*' },
    { kind: 'CustomResourceDefinition', group: 'apiextensions.k8s.io', names: '*' },
    { kind: 'Big', group: 'example.invalid', names: 'b.g' },
  ],
  namespaceRule: 'fill',
  ignore: [],
}

type Files = Readonly<Record<string, string | Buffer>>

function rendered(files: Files, options: Partial<RenderOptions> = {}) {
  const list = Object.entries(files).map(([path, text]) => ({ path, blob: path, bytes: Buffer.from(text) }))
  return render(list, { ...plainOptions, ...options })
}

function setOf(files: Files, options?: Partial<RenderOptions>) {
  const answer = rendered(files, options)
  if ('problems' in answer) throw new Error(JSON.stringify(answer.problems))
  return answer.set
}

function problemsOf(files: Files, options?: Partial<RenderOptions>) {
  const answer = rendered(files, options)
  return 'problems' in answer ? answer.problems : []
}

const configMap = (name: string, more = '') => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n${more}`
const metadata = (lines: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n${lines}\n`
const clusterRole = (name: string) =>
  `apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: ${name}}\n`
const crd = (kind: string, scope: string, versions = '[{name: v1, served: true}]') =>
  `apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x.example.invalid}\n` +
  `spec: {group: example.invalid, names: {kind: ${kind}}, scope: ${scope}, versions: ${versions}}\n`
const custom = (kind: string, version = 'v1', name = 'b.g') =>
  `apiVersion: example.invalid/${version}\nkind: ${kind}\nmetadata: {name: ${name}}\n`

test('objects know their key, their body and where they stand', () => {
  const { objects } = setOf({
    'b.yaml': `# first\n---\n${configMap('two')}---\n${configMap('three')}`,
    'a.yml': configMap('one'),
  })
  const at = (path: string, document: number, line: number) => ({ path, document, line })
  expect(objects.map(({ key, from }) => [key.name, from])).toEqual([
    ['one', at('a.yml', 1, 1)],
    ['two', at('b.yaml', 1, 3)],
    ['three', at('b.yaml', 2, 8)],
  ])
  expect(objects[0]).toEqual({
    key: { group: '', kind: 'ConfigMap', namespace: 'shop', name: 'one' },
    apiVersion: 'v1',
    body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one', namespace: 'shop' } },
    from: at('a.yml', 1, 1),
  })
})

test('only manifests are read', () => {
  const nothing = 'no: manifest\n'
  const files = {
    'a.json': '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}',
    'sub/b.yml': configMap('b'),
    'README.md': nothing,
    'script.sh': nothing,
    '.github/workflows/ci.yaml': nothing,
    'sub/.hidden.yaml': nothing,
    'ignored/c.yaml': nothing,
    'flag.yaml': nothing,
    'empty.yaml': '# nothing\n---\n',
    '.fettleignore': '# not ours\nignored/\n',
  }
  expect(setOf(files, { ignore: ['/flag.yaml'] }).objects.map(({ from }) => from.path)).toEqual(['a.json', 'sub/b.yml'])
})

test('patterns begin at the root of the path', () => {
  const files = {
    'prod/shop/.fettleignore': '/x.yaml',
    'prod/shop/x.yaml': 'a: b',
    'prod/shop/y/x.yaml': configMap('a'),
  }
  expect(setOf(files, { root: './prod//shop/' }).objects).toHaveLength(1)
  expect(problemsOf(files)).toHaveLength(1)
  expect(setOf({ '.ops/a.yaml': configMap('a') }, { root: '.ops' }).objects).toHaveLength(1)
})

test.for([
  'kustomization.yaml',
  'kustomization.yml',
  'Kustomization',
  'Chart.yaml',
  'helmfile.yaml',
  'sub/kustomization.yaml',
])('%s is the input of another program', (path) => {
  const [problem] = problemsOf({ [path]: 'resources: [a.yaml]', 'a.yaml': configMap('a') })
  expect(problem).toEqual({
    path,
    message: expect.stringMatching(/only plain manifests are read yet; commit what `.*` prints, .* --ignore-file/),
  })
  expect(problemsOf({ [path]: 'resources: []', 'a.yaml': configMap('a') }, { ignore: [path] })).toEqual([])
})

test.for<[string, string, string[]]>([
  [
    'a List',
    `apiVersion: v1\nkind: List\nitems:\n- ${configMap('a').replaceAll('\n', '\n  ')}\n- ${configMap('b').replaceAll('\n', '\n  ')}`,
    ['a 4', 'b 9'],
  ],
  [
    'a List in a List',
    `apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  - {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`,
    ['a 7'],
  ],
  [
    'a list of one kind',
    'apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a}\n- metadata: {name: b}',
    ['a 4', 'b 5'],
  ],
  ['an empty List', 'apiVersion: v1\nkind: List\n', []],
])('%s is taken apart', ([, text, expected]) => {
  const { objects } = setOf({ 'a.yaml': text })
  expect(objects.map(({ key, from }) => `${key.name} ${from.line}`)).toEqual(expected)
  for (const { body } of objects) expect(body).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' })
})

test.for<[string, string, object]>([
  [
    'what only the server writes',
    `${metadata(
      '  {name: a, uid: u, resourceVersion: "1", generation: 2, creationTimestamp: null, managedFields: [], selfLink: /x, labels: {a: b},\n' +
        '  annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}", b: c}}',
    )}status: {x: 1}\ndata: {status: kept}`,
    {
      metadata: { name: 'a', namespace: 'shop', labels: { a: 'b' }, annotations: { b: 'c' } },
      data: { status: 'kept' },
    },
  ],
  [
    'annotations of which nothing is left',
    metadata('  name: a\n  annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}'),
    { metadata: { name: 'a', namespace: 'shop' } },
  ],
  [
    'empty annotations stay',
    metadata('  name: a\n  annotations: {}'),
    { metadata: { name: 'a', namespace: 'shop', annotations: {} } },
  ],
])('%s', ([, text, expected]) => {
  expect(setOf({ 'a.yaml': text }).objects[0]?.body).toEqual({ apiVersion: 'v1', kind: 'ConfigMap', ...expected })
})

test.for<[string, object]>([
  ['stringData: {a: b}', { data: { a: 'Yg==' } }],
  ['data: {a: eA==, c: eA==}\nstringData: {a: b}', { data: { a: 'Yg==', c: 'eA==' } }],
  ['data:\nstringData: {a: é}', { data: { a: 'w6k=' } }],
  ['data: {a: eA==}\nstringData: {}', { data: { a: 'eA==' } }],
  ['stringData:', {}],
  ['stringData: {a: }', { data: { a: '' } }],
])('stringData goes into data: %j', ([text, expected]) => {
  const secret = `apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n${text}`
  const [object] = setOf({ 'a.yaml': secret }).objects
  expect(object?.body).toEqual({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'a', namespace: 'shop' },
    ...expected,
  })
})

test('rules of an aggregated ClusterRole are its controller’s', () => {
  const text = `${clusterRole('shop-a')}rules: []\n`
  expect(setOf({ 'a.yaml': text }).objects[0]?.body).toHaveProperty('rules')
  expect(setOf({ 'a.yaml': `${text}aggregationRule: {}\n` }).objects[0]?.body).not.toHaveProperty('rules')
})

test('large numbers are exact', () => {
  const { objects } = setOf({
    'a.yaml': `${crd('Small', 'Namespaced')}---\n${custom('Small')}count: 9007199254740993\n`,
  })
  expect(objects[1]?.body['count']).toBe(9007199254740993n)
})

test.for<[RenderOptions['namespaceRule'], string[], string, string | RegExp]>([
  ['fill', ['shop'], '', 'shop'],
  ['fill', ['shop'], 'shop', 'shop'],
  [
    'fill',
    ['shop'],
    'other',
    /^the ConfigMap a is in namespace other, which this Sync may not touch; it may touch shop: /,
  ],
  ['fill', ['shop', 'till'], 'till', 'till'],
  ['fill', ['shop', 'till'], '', /^nothing says which of the namespaces shop, till the ConfigMap a goes to; /],
  ['force', ['shop'], 'other', 'shop'],
  ['force', ['shop', 'till'], 'shop', /^nothing says which of the namespaces/],
  ['verify', ['shop'], 'shop', 'shop'],
  ['verify', ['shop'], '', /^the ConfigMap a has no namespace; write metadata\.namespace$/],
  ['verify', ['shop'], 'other', /may not touch/],
  ['fill', ['shop'], '[shop]', /may not touch/],
  ['fill', ['shop'], '"shop "', /may not touch/],
])('namespace rule %s with %j and "%s"', ([namespaceRule, namespaces, written, expected]) => {
  const text = metadata(`  name: a${written === '' ? '' : `\n  namespace: ${written}`}`)
  const answer = rendered({ 'a.yaml': text }, { namespaceRule, namespaces })
  if (typeof expected === 'string') {
    const [object] = 'set' in answer ? answer.set.objects : []
    expect(object?.key.namespace).toBe(expected)
    expect(object?.body).toMatchObject({ metadata: { namespace: expected } })
  } else {
    const line = written === '' || namespaces.length > 1 ? 3 : 5
    expect(answer).toEqual({ problems: [{ path: 'a.yaml', line, message: expect.stringMatching(expected) }] })
  }
})

test.for<[string, string, RegExp | undefined]>([
  ['an allowed name', clusterRole('shop-a'), undefined],
  [
    'another name',
    clusterRole('other'),
    /^ClusterRole\.rbac\.authorization\.k8s\.io other belongs to the whole cluster, and this Sync may not write it; allow ClusterRole\.rbac\.authorization\.k8s\.io=other for it/,
  ],
  ['an allowed namespace', 'apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}', undefined],
  [
    'another namespace',
    'apiVersion: v1\nkind: Namespace\nmetadata: {name: other}',
    /^Namespace other belongs to the whole cluster/,
  ],
  ['a node', 'apiVersion: v1\nkind: Node\nmetadata: {name: shop}', /^Node shop belongs/],
  ['a kind of the set', `${crd('Big', 'Cluster')}---\n${custom('Big')}`, undefined],
  [
    'a dot is a dot',
    `${crd('Big', 'Cluster')}---\n${custom('Big', 'v1', 'bxg')}`,
    /^Big\.example\.invalid bxg belongs/,
  ],
])('objects of the whole cluster: %s', ([, text, message]) => {
  const answer = rendered({ 'a.yaml': text })
  if (message)
    expect(answer).toEqual({ problems: [expect.objectContaining({ message: expect.stringMatching(message) })] })
  else expect('set' in answer ? answer.set.objects.at(-1)?.key.namespace : answer).toBe('')
})

test('a namespace on an object of the whole cluster is dropped, as the server drops it', () => {
  const text = clusterRole('shop-a').replace('{name', '{namespace: other, name')
  expect(setOf({ 'a.yaml': text }).objects[0]?.body['metadata']).toEqual({ name: 'shop-a' })
})

test.for<[string, string, RegExp | undefined]>([
  ['before its definition', `${custom('Small')}---\n${crd('Small', 'Namespaced')}`, undefined],
  [
    'without one',
    custom('Small'),
    /^the server does not know Small of example\.invalid\/v1; commit its CustomResourceDefinition too/,
  ],
  [
    'in another version',
    `${crd('Small', 'Namespaced')}---\n${custom('Small', 'v2')}`,
    /^the server does not know Small of example\.invalid\/v2/,
  ],
  [
    'in a version that is not served',
    `${crd('Small', 'Namespaced', '[{name: v1, served: false}]')}---\n${custom('Small')}`,
    /does not know/,
  ],
])('a kind of the set, %s', ([, text, message]) => {
  expect(problemsOf({ 'a.yaml': text }).map((problem) => problem.message)).toEqual(
    message ? [expect.stringMatching(message)] : [],
  )
})

test.for<[string, string | Buffer, number | undefined, RegExp]>([
  ['no YAML', 'a: [', 2, /^it is not YAML: /],
  ['a template', 'a: {{ .Values.x }}', 1, /if it is a template, commit what it renders to/],
  ['not UTF-8', Buffer.from([0x61, 0xff]), undefined, /^the file is not UTF-8; /],
  ['UTF-16', Buffer.from('a: 1', 'utf16le'), 1, /^the character U\+0000 may not stand here/],
  ['git-crypt', Buffer.from('\0GITCRYPT\0abc', 'latin1'), undefined, /^git-crypt has locked the file/],
  [
    'a pointer',
    'version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n',
    undefined,
    /^the file is a pointer to large-file storage/,
  ],
  ['sops', `${configMap('a')}sops: {mac: x}\n`, 1, /^the object is encrypted \(it has a sops stanza\)/],
  ['a text', 'hello', 1, /^here is no object; /],
  ['a list', '- a', 1, /^here is no object; /],
  ['an item that is none', 'apiVersion: v1\nkind: List\nitems:\n- a', 4, /^here is no object; /],
  ['items that are none', 'apiVersion: v1\nkind: List\nitems: {a: b}', 1, /^items of a list is no list/],
  ['no apiVersion', 'kind: ConfigMap', 1, /^apiVersion is missing, or no text; /],
  ['no kind', '# x\napiVersion: v1', 2, /^kind is missing, or no text; /],
  ['a kind that is none', 'apiVersion: v1\nkind: a b', 1, /^apiVersion or kind has characters/],
  ['a hostile version', 'apiVersion: ../v1\nkind: A', 1, /^apiVersion or kind has characters/],
  ['no metadata', 'apiVersion: v1\nkind: ConfigMap', 1, /^the ConfigMap has no metadata; /],
  ['no name', metadata('  labels: {}'), 3, /^the ConfigMap has no metadata\.name; write one$/],
  ['an empty name', metadata('  name: ""'), 3, /^the ConfigMap has no metadata\.name/],
  ['a number as name', metadata('  name: 1'), 4, /^metadata\.name of the ConfigMap is no name; /],
  ['a hostile name', metadata('  name: ../x'), 4, /^metadata\.name of the ConfigMap is no name; /],
  ['a name of dots', metadata('  name: ..'), 4, /^metadata\.name of the ConfigMap is no name; /],
  ['a blank in the name', metadata('  name: a b'), 4, /^metadata\.name of the ConfigMap is no name; /],
  [
    'generateName',
    metadata('  generateName: a-'),
    4,
    /^the ConfigMap has generateName, which makes another object each time; /,
  ],
  [
    'a number as label',
    metadata('  name: a\n  labels:\n    b: 1'),
    6,
    /^metadata\.labels: b is a number, not text; put it in quotes$/,
  ],
  [
    'true as annotation',
    metadata('  name: a\n  annotations:\n    b: on'),
    6,
    /^metadata\.annotations: b is true or false, not text/,
  ],
  ['labels that are none', metadata('  name: a\n  labels: [b]'), 5, /^metadata\.labels is no mapping/],
  [
    'our label',
    metadata('  name: a\n  labels:\n    applyset.kubernetes.io/part-of: x'),
    6,
    /^the label applyset\.kubernetes\.io\/part-of says whose an object is/,
  ],
  [
    'too large',
    `${configMap('a')}data: {a: ${'x'.repeat(1_600_000)}}`,
    1,
    /^ConfigMap shop\/a has 16\d{5} bytes, and the server takes at most 1572864; /,
  ],
  [
    'a number in a Secret',
    'apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  b: 4711',
    5,
    /^stringData: b of the Secret is a number, not text; put it in quotes$/,
  ],
])('%s is a problem', ([, text, line, message]) => {
  const [problem, ...others] = problemsOf({ 'a.yaml': text })
  expect(problem).toMatchObject({ path: 'a.yaml', message: expect.stringMatching(message) })
  expect(problem?.line).toBe(line)
  expect(others).toEqual([])
})

test('one key at two places names both', () => {
  expect(problemsOf({ 'a.yaml': configMap('a'), 'b.yaml': `---\n${configMap('a', '  namespace: shop\n')}` })).toEqual([
    { path: 'b.yaml', line: 2, message: 'ConfigMap shop/a is declared at a.yaml:1 already; leave one of the two out' },
  ])
})

test('one kind in two versions names both', () => {
  const scaler = (version: string, name: string) =>
    `apiVersion: autoscaling/${version}\nkind: HorizontalPodAutoscaler\nmetadata: {name: ${name}}\n`
  expect(problemsOf({ 'a.yaml': scaler('v2', 'a'), 'b.yaml': scaler('v1', 'b') })).toEqual([
    {
      path: 'b.yaml',
      line: 1,
      message:
        'HorizontalPodAutoscaler is written as autoscaling/v1 here and as autoscaling/v2 at a.yaml:1; ' +
        'write all objects of a kind in one version',
    },
  ])
})

test('all problems are told, in the order of files and lines', () => {
  const files = {
    'c.yaml': 'a: [',
    'b.yaml': `${metadata('  name: a b')}---\nkind: A\n---\n${configMap('x')}`,
    'a.yaml': configMap('x'),
  }
  expect(problemsOf(files).map(({ path, line }) => `${path}:${line}`)).toEqual([
    'b.yaml:4',
    'b.yaml:6',
    'b.yaml:8',
    'c.yaml:2',
  ])
})

test('there is a bound to the number of objects', () => {
  const one = `---\n${configMap('a')}`
  expect(problemsOf({ 'a.yaml': one.repeat(20_000), 'b.yaml': one })).toEqual([
    { path: 'b.yaml', line: 2, message: 'there are more than 20000 objects up to here; split them over several paths' },
  ])
})

test('the digest depends on keys and bodies alone', () => {
  const one = setOf({ 'a.yaml': `${configMap('a', 'data: {x: "1", z: "2"}\n')}---\n${configMap('b')}` })
  const same = setOf({
    'b/x.yaml': configMap('b', '  namespace: shop\nstatus: {}\n'),
    'c.json': '{"kind": "ConfigMap", "data": {"z": "2", "x": "1"}, "apiVersion": "v1", "metadata": {"name": "a"}}',
  })
  const other = setOf({ 'a.yaml': `${configMap('a', 'data: {x: "1", z: "3"}\n')}---\n${configMap('b')}` })
  expect(one.digest).toMatch(/^[0-9a-f]{64}$/)
  expect(same.digest).toBe(one.digest)
  expect(other.digest).not.toBe(one.digest)
})

test('no problem repeats a value', () => {
  const secret = 'apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: other}\n'
  const files = {
    'a.yaml': `${secret}stringData: {p: [s3cret]}\n`,
    'b.yaml': `${secret}data: {p: "s3cret}\n`,
    'c.yaml': `${secret.replace(', namespace: other', '')}data: s3cret\nsops: {mac: s3cret}\n`,
    'd.yaml': `${secret.replace(', namespace: other', '')}stringData: {p: {q: s3cret}}\n`,
  }
  expect(problemsOf(files)).toHaveLength(4)
  expect(JSON.stringify(problemsOf(files))).not.toContain('s3cret')
})

test('a name that JavaScript knows is a name like any other', () => {
  const { objects } = setOf({ 'a.yaml': `${metadata('  name: constructor\n  labels: {toString: a}')}` })
  expect(objects[0]?.key.name).toBe('constructor')
  expect(problemsOf({ 'a.yaml': `${configMap('a')}data:\n  __proto__: {a: b}\n` })).toHaveLength(1)
})
