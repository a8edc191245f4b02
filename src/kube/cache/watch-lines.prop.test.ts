import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LineSplitter } from './watch-lines.ts'

describe('LineSplitter', () => {
  it('finds the same lines however the bytes are cut', () => {
    const line = fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => text.replaceAll('\n', ' '))
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 20 }),
        fc.array(fc.nat({ max: 60 }), { maxLength: 40 }),
        (lines, sizes) => {
          const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(''))
          const splitter = new LineSplitter(1_000_000)
          const found: string[] = []
          let at = 0
          for (const size of sizes) {
            found.push(...splitter.push(bytes.subarray(at, at + size)))
            at += size
          }
          found.push(...splitter.push(bytes.subarray(at)))
          expect(found).toEqual(lines.filter((text) => text !== ''))
          expect(splitter.pendingBytes).toBe(0)
        },
      ),
    )
  })
})
