import { Command, CommanderError } from 'commander'
import { addDoctorCommand } from './doctor.ts'
import { addGenerateCommand } from './generate.ts'
import { addKeysCommands } from './keys.ts'
import { addMigrateCommand } from './migrate.ts'
import { addPruneCommand } from './prune.ts'

/** The exit code of invalid arguments. A failed command exits with 1. */
const USAGE = 2

/** Runs the command in the arguments of this process. */
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
