import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import type { PostgresServer } from './embedded-postgres.ts'
import { until } from './until.ts'

/** Makes a primary a standby, at the same address. */
export async function demote(server: PostgresServer, hand: pg.Pool): Promise<void> {
  const { rows } = await hand.query('show data_directory')
  await server.crash()
  writeFileSync(join(rows[0].data_directory, 'standby.signal'), '')
  void server.start().catch(() => {})
  await until(() =>
    hand.query('select 1').then(
      () => true,
      () => false,
    ),
  )
}
