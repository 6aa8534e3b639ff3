import type { AddedColumns } from '../../session/added-columns.ts'
import type { Expected } from './inspect.ts'
import type { AuthKysely } from './kysely-tables.ts'
import type { Tables } from './table.ts'

/** A database or store that an app opens. */
export interface Opening {
  readonly db: AuthKysely
  /** Returns what it must have. The tables of plugins belong to it if our endpoints run on it. */
  expectedWith(pluginTables: Tables): Expected
  /** The added columns that Step 2 reads. Absent if another library owns the tables. */
  readonly columns?: AddedColumns
  /** Checks what the catalog doesn't say, such as the encoding of dates. */
  check?(): Promise<void>
}

/** While its promise is pending, the app goes no further. */
type Inspector = (opening: Opening) => Promise<void>

/** In the global object, since the app may load another copy of this module than the command line. */
const INSPECTOR: unique symbol = Symbol.for('sallyport.inspector') as never

const holder: typeof globalThis & { [INSPECTOR]?: Inspector } = globalThis

/**
 * Makes this process inspect the databases that it opens, before it migrates or repairs them.
 * @returns a function that ends this
 */
export function inspectOpened(inspector: Inspector): () => void {
  holder[INSPECTOR] = inspector
  return () => delete holder[INSPECTOR]
}

export function isInspecting(): boolean {
  return holder[INSPECTOR] !== undefined
}

/** Call this before anything is written. */
export async function offerInspection(opening: Opening): Promise<void> {
  await holder[INSPECTOR]?.(opening)
}
