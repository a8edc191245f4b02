/** Gives equal strings one body. Fifty thousand pods repeat a few hundred node names, namespaces and label values. */
export class Interner {
  readonly #known = new Map<string, string>()
  readonly #most: number

  constructor(most = 20_000) {
    this.#most = most
  }

  share(text: string): string {
    const known = this.#known.get(text)
    if (known !== undefined) return known
    // Forgetting costs a little memory for a while; never forgetting would leak every label value that ever was.
    if (this.#known.size >= this.#most) this.#known.clear()
    this.#known.set(text, text)
    return text
  }
}
