import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

/**
 * Who may import whom. `kube` and `host` are doors: acting files of any room may use them, deciding files may not.
 * A room that is not listed here does not exist.
 */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  main: ['cli', 'server', 'agent', 'profiles', 'queue', 'drain', 'notify', 'api', 'dev', 'kube', 'host', 'time'],
  cli: ['agent', 'sync', 'profiles', 'queue', 'drain', 'api', 'text', 'dev', 'kube', 'host', 'host-script', 'time'],
  server: ['queue', 'drain', 'notify', 'api', 'kube', 'host', 'time'],
  agent: ['api', 'kube', 'host', 'host-script', 'time'],
  sync: ['api', 'text', 'kube', 'host', 'time'],
  profiles: ['queue', 'drain', 'notify', 'api', 'text', 'kube', 'time'],
  queue: ['drain', 'api', 'kube', 'time'],
  drain: ['api', 'kube', 'time'],
  notify: ['api', 'text', 'kube', 'time'],
  api: ['time'],
  dev: ['kube', 'host', 'time'],
  kube: ['time'],
  host: ['time'],
  'host-script': [],
  text: [],
  time: [],
}

/** Files that decide: same arguments, same answer. They must not reach a door or the platform's I/O. */
const decidingFile = /\/(decide|plan)[a-z-]*\.ts$|^src\/(time|text)\/(?!.*clock)/
const platformInput = /^node:(fs|child_process|net|http|https|tls|dgram|dns|process)/

const root = resolve(import.meta.dirname, '../..')

function* sourceFiles(folder: string): Generator<string> {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    if (statSync(path).isDirectory()) yield* sourceFiles(path)
    else if (path.endsWith('.ts') && !path.endsWith('.test.ts')) yield path
  }
}

/** Types leave nothing behind at run time: anyone may speak of the doors' shapes. */
function importsOf(path: string): string[] {
  const text = readFileSync(path, 'utf8').replace(/^(?:import|export) type [^;]*? from '[^']+'$/gms, '')
  return [...text.matchAll(/(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/g)].map((match) => match[1] ?? '')
}

const breaches: string[] = []
for (const path of sourceFiles(join(root, 'src'))) {
  const file = relative(root, path)
  const room = file.split('/')[1] ?? ''
  const allowed = mayImport[room]
  if (!allowed) breaches.push(`${file}: the room '${room}' is not in the list of test/house/imports.test.ts`)
  for (const specifier of importsOf(path)) {
    if (decidingFile.test(file) && platformInput.test(specifier))
      breaches.push(`${file} decides, but imports ${specifier}`)
    if (!specifier.startsWith('.')) continue
    const target = relative(root, resolve(dirname(path), specifier))
    const targetRoom = target.split('/')[1] ?? ''
    if (!target.startsWith('src/')) {
      if (!target.endsWith('package.json')) breaches.push(`${file} imports ${target}, outside src/`)
    } else if (targetRoom !== room) {
      if (!allowed?.includes(targetRoom)) breaches.push(`${file} may not import from ${targetRoom}`)
      if (!/^src\/[^/]+\/index\.ts$/.test(target))
        breaches.push(`${file} imports ${target}: enter a room by its index.ts`)
      if (decidingFile.test(file) && ['kube', 'host'].includes(targetRoom))
        breaches.push(`${file} decides, but imports ${target}`)
    }
  }
}

test('imports go down the list of rooms only, and through their doors', () => {
  expect(breaches).toEqual([])
})

test('the map of the house in CONTRIBUTING.md shows every room', () => {
  const map = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')
  expect(Object.keys(mayImport).filter((room) => !map.includes(`| \`src/${room}\``))).toEqual([])
})
