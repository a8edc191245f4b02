import { describe, expect, it } from 'vitest'
import { LineSplitter, LineTooLong } from './watch-lines.ts'

const cut = (splitter: LineSplitter, ...chunks: readonly string[]) =>
  chunks.flatMap((chunk) => [...splitter.push(Buffer.from(chunk))])

describe('LineSplitter', () => {
  it('cuts several lines out of one chunk', () => {
    expect(cut(new LineSplitter(100), 'a\nb\n\nc\n')).toEqual(['a', 'b', 'c'])
  })

  it('keeps the rest of a chunk for the next', () => {
    const splitter = new LineSplitter(100)
    expect(cut(splitter, 'a\nhal', 'f')).toEqual(['a'])
    expect(splitter.pendingBytes).toBe(4)
    expect(cut(splitter, '\n')).toEqual(['half'])
    expect(splitter.pendingBytes).toBe(0)
  })

  it('survives a character cut in two', () => {
    const bytes = Buffer.from('"ü€😀"\n')
    const splitter = new LineSplitter(100)
    const found: string[] = []
    for (const byte of bytes) found.push(...splitter.push(Buffer.from([byte])))
    expect(found).toEqual(['"ü€😀"'])
  })

  it('refuses a line that never ends', () => {
    const splitter = new LineSplitter(10)
    expect(() => cut(splitter, '12345', '6789', '01')).toThrow(LineTooLong)
  })
})
