import { describe, expect, it } from 'vitest'
import { HttpAnswer } from './http-answer.ts'

/** An answer, and what it did to its connection. */
function fromConnection() {
  const done: string[] = []
  const answer = new HttpAnswer(
    200,
    {},
    {
      pause: () => done.push('pause'),
      resume: () => done.push('resume'),
      // As a connection does it.
      destroy: (error) => {
        done.push('destroy')
        answer.end(error)
      },
    },
  )
  const add = (text: string) => answer.add(Buffer.from(text))
  return { answer, add, done }
}

const kib100 = 'x'.repeat(100 * 1024)
const over = { done: true, value: undefined }

describe('the whole of an answer', () => {
  it('is here whether it came before or after somebody asked', async () => {
    const early = fromConnection()
    early.add('a')
    early.add('b')
    early.answer.end()
    expect(String(await early.answer.whole(2))).toBe('ab')
    const late = fromConnection()
    const whole = late.answer.whole(2)
    late.add('a')
    late.add('b')
    late.answer.end()
    expect(String(await whole)).toBe('ab')
    const empty = fromConnection()
    empty.answer.end()
    expect(await empty.answer.whole(0)).toEqual(Buffer.alloc(0))
    expect([...early.done, ...late.done, ...empty.done]).toEqual([])
  })

  it('is not waited for when it is larger than the limit, and its connection is given up', async () => {
    const late = fromConnection()
    const whole = late.answer.whole(2)
    late.add('ab')
    late.add('c')
    expect(await whole).toBeUndefined()
    expect(late.done).toEqual(['destroy'])
    const early = fromConnection()
    early.add('abc')
    expect(await early.answer.whole(2)).toBeUndefined()
    expect(early.done).toEqual(['destroy'])
  })

  it('that is too large but all here leaves the connection alone: others may use it by now', async () => {
    const { answer, add, done } = fromConnection()
    add('abc')
    answer.end()
    expect(await answer.whole(2)).toBeUndefined()
    expect(done).toEqual([])
  })

  it('never comes when the connection broke, before or after somebody asked', async () => {
    const early = fromConnection()
    early.add('a')
    early.answer.end(new Error('cut'))
    await expect(early.answer.whole(9)).rejects.toThrow('cut')
    const late = fromConnection()
    const whole = late.answer.whole(9)
    late.add('a')
    late.answer.end(new Error('cut'))
    await expect(whole).rejects.toThrow('cut')
  })

  it('flows again when it was held up before somebody asked, and is held up no more', async () => {
    const { answer, add, done } = fromConnection()
    for (let count = 0; count < 4; count++) add(kib100)
    expect(done).toEqual(['pause'])
    const whole = answer.whole(1e9)
    expect(done).toEqual(['pause', 'resume'])
    for (let count = 0; count < 4; count++) add(kib100)
    answer.end()
    expect((await whole)?.length).toBe(8 * kib100.length)
    expect(done).toEqual(['pause', 'resume'])
  })
})

describe('the pieces of an answer', () => {
  it('come one by one, before their time or after it, and then no more', async () => {
    const { answer, add } = fromConnection()
    add('a')
    add('b')
    expect(String((await answer.next()).value)).toBe('a')
    expect(String((await answer.next()).value)).toBe('b')
    const next = answer.next()
    add('c')
    expect(String((await next).value)).toBe('c')
    const last = answer.next()
    answer.end()
    expect(await last).toEqual(over)
    expect(await answer.next()).toEqual(over)
  })

  it('that came before the connection broke are not lost', async () => {
    const { answer, add } = fromConnection()
    add('a')
    answer.end(new Error('cut'))
    expect(String((await answer.next()).value)).toBe('a')
    await expect(answer.next()).rejects.toThrow('cut')
    await expect(answer.next()).rejects.toThrow('cut')
  })

  it('hold the server up once when nobody reads them, and let it go on when all are read', async () => {
    const { answer, add, done } = fromConnection()
    for (let count = 0; count < 5; count++) add(kib100)
    expect(done).toEqual(['pause'])
    for (let count = 0; count < 5; count++) await answer.next()
    expect(done).toEqual(['pause'])
    const next = answer.next()
    expect(done).toEqual(['pause', 'resume'])
    add('z')
    expect(String((await next).value)).toBe('z')
    for (let count = 0; count < 5; count++) add(kib100)
    expect(done).toEqual(['pause', 'resume', 'pause'])
  })

  it('that are all here are read without a word to the connection: others may use it by now', async () => {
    const { answer, add, done } = fromConnection()
    for (let count = 0; count < 5; count++) add(kib100)
    answer.end()
    done.length = 0
    for (let count = 0; count < 5; count++) await answer.next()
    expect(await answer.next()).toEqual(over)
    expect(await answer.return()).toEqual(over)
    answer.destroy()
    expect(done).toEqual([])
  })

  it('are given up with the loop that reads them', async () => {
    const { answer, add, done } = fromConnection()
    add('a')
    add('b')
    for await (const piece of answer) {
      expect(String(piece)).toBe('a')
      break
    }
    expect(done).toEqual(['destroy'])
  })

  it('end with the error of whoever gave them up, also for one who waits', async () => {
    const { answer } = fromConnection()
    const next = answer.next()
    answer.destroy(new Error('silent'))
    await expect(next).rejects.toThrow('silent')
  })
})
