#!/usr/bin/env node
import { Command } from 'commander'
import { keysCommand } from './keys.ts'
import { migrateCommand } from './migrate.ts'

const program = new Command('sallyport')
  .description('Keys and database of a Sallyport auth server')
  .addCommand(migrateCommand())
  .addCommand(keysCommand())

try {
  await program.parseAsync()
} catch (error) {
  program.error(error instanceof Error ? error.message : String(error), { exitCode: 1 })
}
