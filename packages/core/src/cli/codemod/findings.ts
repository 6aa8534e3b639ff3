import type { Node } from './nodes.ts'
import { lineOf, type Source } from './source.ts'

/** Text to replace. */
interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Collects the edits of a run, and what it couldn't move. */
export class Findings {
  readonly edits: Map<Source, Edit[]> = new Map()
  readonly #left: Map<string, Set<string>> = new Map()

  edit(source: Source, { start, end }: { start: number; end: number }, text: string): void {
    this.edits.set(source, [...(this.edits.get(source) ?? []), { start, end, text }])
  }

  /** Lists code that stays as it is. */
  leave(source: Source, at: Node, reason: string): void {
    this.leaveFile(`${source.path}:${lineOf(source, at)}`, reason)
  }

  leaveFile(place: string, reason: string): void {
    this.#left.set(place, new Set([...(this.#left.get(place) ?? []), reason]))
  }

  isReplaced(source: Source, { start, end }: Node): boolean {
    return (this.edits.get(source) ?? []).some((edit) => edit.start <= start && end <= edit.end)
  }

  /** Returns a file with its edits. */
  apply(source: Source): string {
    const edits = (this.edits.get(source) ?? []).toSorted((a, b) => b.start - a.start)
    return edits.reduce(
      (text, { start, end, text: added }) => text.slice(0, start) + added + text.slice(end),
      source.text,
    )
  }

  get left(): string[] {
    const byPlace = new Intl.Collator('en', { numeric: true })
    return [...this.#left]
      .toSorted(([a], [b]) => byPlace.compare(a, b))
      .flatMap(([place, reasons]) => [...reasons].map((reason) => `${place} ${reason}`))
  }
}
