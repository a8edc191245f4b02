import { describe, expect, it } from 'vitest'
import { unitFiles, unitLinks } from './units.ts'

describe('services of a machine', () => {
  it('enables every unit that it writes', () => {
    const written = unitFiles().flatMap(({ path }) => (path.endsWith('.service') ? [path] : []))
    const enabled = unitLinks().flatMap(({ path, target }) => (path.includes('.wants/') ? [target] : []))
    expect(enabled.sort()).toEqual(written.sort())
  })

  it('masks nothing that it writes', () => {
    const written = new Set(unitFiles().map(({ path }) => path))
    for (const { path, target } of unitLinks()) if (target === '/dev/null') expect(written.has(path), path).toBe(false)
  })

  it('starts the kubelet only after the images are there', () => {
    const kubelet = unitFiles().find(({ path }) => path.endsWith('/kubelet.service'))?.text
    expect(kubelet).toContain('After=fettle-images.service')
  })

  it('shows the kubelet every kernel setting from a file that exists', () => {
    const files = unitFiles()
    const boot = files.find(({ path }) => path === '/usr/local/lib/fettle/boot')?.text ?? ''
    const sources = [...boot.matchAll(/mount --bind (\S+)/g)].map((match) => match[1])
    expect(sources.length).toBeGreaterThan(0)
    for (const source of sources) expect(files.map(({ path }) => path)).toContain(source)
  })
})
