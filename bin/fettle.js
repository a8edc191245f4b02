#!/usr/bin/env node
// In a checkout the sources run as they are; the published package carries bundled files and no sources.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const source = new URL('../src/main/cli.ts', import.meta.url)
if (existsSync(fileURLToPath(source))) {
  const { register } = await import('tsx/esm/api')
  register()
  await import(source.href)
} else {
  const program = process.argv[2] === 'sync' ? 'fettle-sync.js' : 'fettle.js'
  await import(new URL(`../dist/${program}`, import.meta.url).href)
}
