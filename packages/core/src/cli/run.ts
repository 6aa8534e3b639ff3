import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { addCodemodCommand } from './codemod.ts'
import { addDoctorCommand } from './doctor.ts'
import { explain, reportError } from './errors.ts'
import { addGenerateCommand } from './generate.ts'
import { addInitCommand } from './init.ts'
import { addKeysCommands } from './keys.ts'
import { addMigrateCommand } from './migrate.ts'
import { addPruneCommand } from './prune.ts'
import { addSessionsCommands } from './sessions.ts'
import { addUserCommands } from './user.ts'

const EXIT_CODES = `
Exit codes:
  0  done
  1  failed, or a check found a problem
  2  wrong arguments
  3  nothing changed: the key or session is unknown or out of service, or the user is as requested`

/** Runs the command in the arguments of this process, and ends the process. */
export async function run(): Promise<void> {
  // As far from `src/cli` as from `dist/chunks`. Bun lacks `findPackageJSON`.
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  const program = new Command('sallyport')
    .description('Manage the keys, the database, the users, and the sessions of a Sallyport auth server.')
    .version(version)
    .configureOutput({ outputError: () => {} })
    .exitOverride()
    .addHelpText('after', '\nStart with:\n  $ sallyport init\n  $ sallyport doctor --env .env')
    .addHelpText('afterAll', EXIT_CODES)

  addInitCommand(program)
  addCodemodCommand(program)
  addMigrateCommand(program)
  addPruneCommand(program)
  addKeysCommands(program)
  addGenerateCommand(program)
  addDoctorCommand(program)
  addUserCommands(program)
  addSessionsCommands(program)

  const fail = (error: unknown) => process.exit(reportError(error))
  // A definition can start work that fails later.
  process.once('uncaughtException', fail)
  const faults: NodeJS.ErrnoException[] = []
  const note = (error: Error) => faults.push(error)
  // `console.log` ignores a full disk.
  process.stdout.on('error', note)
  const code = await program.parseAsync().then(() => process.exitCode, reportError)
  // An exit would cut off what a pipe hasn't taken yet.
  await new Promise((resolve) => process.stdout.write('', resolve))
  process.off('uncaughtException', fail)
  process.stdout.off('error', note)
  // `head` closes its pipe early.
  const fault = faults.find((error) => error.code !== 'EPIPE')
  // The definition may have left files or connections open.
  if (fault !== undefined) console.error(explain(fault))
  process.exit(fault === undefined ? code : code || 1)
}
