#!/usr/bin/env node
// In a checkout the sources run as they are; the published package carries one bundled file and no sources.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const source = new URL('../src/main/cli.ts', import.meta.url)
if (existsSync(fileURLToPath(source))) {
  const { register } = await import('tsx/esm/api')
  register()
  await import(source.href)
} else {
  await import(new URL('../dist/fettle.js', import.meta.url).href)
}
