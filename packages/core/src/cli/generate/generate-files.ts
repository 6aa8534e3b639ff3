import { relative } from 'node:path'
import { columnsOf } from '../../database/columns.ts'
import { refuseWithout } from '../missing-package.ts'
import { authFile } from './auth-file.ts'
import { coldStubs } from './cold-stubs.ts'
import { databaseFile } from './database-file.ts'
import { type GeneratedFiles, withFiles } from './generated-files.ts'
import { type ImportExtension, importSpecifier } from './import-specifier.ts'
import { loadAuth } from './load-auth.ts'
import { sessionFile } from './session-file.ts'

/** Where an app has its auth definition, and where the generated files go. */
export interface GenerateOptions {
  readonly auth: string
  readonly out: string
  readonly importExtension?: ImportExtension | undefined
}

/** What the files are to be. */
export interface Generated {
  readonly files: GeneratedFiles
  /** Why they are stubs, such as `src/auth.ts does not exist`; null where they are not. */
  readonly missing: string | null
}

/**
 * Makes the generated files of an app from its auth definition, which is loaded for it. It may import them: those that are not there yet
 * are stubs meanwhile.
 *
 * @throws ConfigurationError when the definition cannot be loaded; then nothing is left behind
 */
export async function generateFiles({ auth, out, importExtension }: GenerateOptions): Promise<Generated> {
  // It is written into the stubs, which are to be the same on every machine.
  const path = relative('.', auth).replaceAll('\\', '/')
  return withFiles(out, coldStubs(`${path} is still being loaded`), async () => {
    const loaded = await loadAuth(path)
    if ('missing' in loaded) return { files: coldStubs(loaded.missing), missing: loaded.missing }
    const { readAddedTables } = await import('./read-tables.ts').catch(refuseWithoutDriver)
    const { definition } = loaded
    const authModule = importSpecifier(auth, { from: out, extension: importExtension })
    return {
      files: {
        'auth.ts': authFile(authModule),
        'session.ts': sessionFile(authModule),
        'database.ts': databaseFile(columnsOf(definition), await readAddedTables(definition.plugins)),
      },
      missing: null,
    }
  })
}

const refuseWithoutDriver = refuseWithout(
  'better-sqlite3',
  'sallyport generate reads the tables of plugins from a database in memory, for which it needs better-sqlite3',
)
