import { Command, CommanderError } from 'commander'
import { addDoctorCommand } from './doctor.ts'
import { addGenerateCommand } from './generate.ts'
import { addKeysCommands } from './keys.ts'
import { addMigrateCommand } from './migrate.ts'
import { addPruneCommand } from './prune.ts'

/** What a call ends with: 0 is done, 1 is refused or failed, 2 is a call that makes no sense. */
const USAGE = 2

/** Runs the command that the arguments of this process name. */
export async function run(): Promise<void> {
  const program = new Command('sallyport')
    .description('Keys and database of a Sallyport auth server')
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : USAGE))

  addMigrateCommand(program)
  addPruneCommand(program)
  addKeysCommands(program)
  addGenerateCommand(program)
  addDoctorCommand(program)

  try {
    await program.parseAsync()
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = error instanceof CommanderError ? USAGE : 1
  }
}
