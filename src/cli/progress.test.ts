import { describe, expect, it } from 'vitest'
import { progressOn } from './progress.ts'

function stream(options: { readonly isTTY?: boolean; readonly columns?: number } = {}) {
  const written: string[] = []
  return { ...options, write: (text: string) => written.push(text), written }
}

describe('progress in a pipe', () => {
  it('is a plain line now and then, and one for each finished step', () => {
    let now = 0
    const pipe = stream()
    const progress = progressOn(pipe, () => now)
    progress.update('one')
    now = 14_000
    progress.update('two')
    now = 16_000
    progress.update('three')
    now = 75_000
    progress.done('all')
    progress.update('next')
    expect(pipe.written).toEqual(['  … one (0s)\n', '  … three (16s)\n', '  ✓ all (1m15s)\n', '  … next (1m15s)\n'])
  })
})

describe('progress on a terminal', () => {
  it('redraws one line and takes it away for what stays', () => {
    const terminal = stream({ isTTY: true, columns: 80 })
    const progress = progressOn(terminal, () => 0)
    progress.update('one')
    progress.update('two')
    progress.done('all')
    progress.clear()
    expect(terminal.written.join('')).toBe('  … one (0s)\r\x1b[2K  … two (0s)\r\x1b[2K  ✓ all (0s)\n')
  })

  it('never wraps, because a wrapped line cannot be taken away', () => {
    const terminal = stream({ isTTY: true, columns: 20 })
    progressOn(terminal, () => 0).update('x'.repeat(100))
    expect(terminal.written[0]).toHaveLength(19)
  })
})
