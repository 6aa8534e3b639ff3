import { expect, test } from 'vitest'
import { formatColumns } from '../../src/cli/key-table.ts'

test('a table may have hundreds of thousands of rows', () => {
  const rows = Array.from({ length: 300_000 }, (_, i) => ({ id: `${i}`, device: 'curl' }))
  const lines = formatColumns(rows).split('\n')
  expect(lines.slice(0, 2)).toEqual(['id      device', '0       curl'])
  expect(lines).toHaveLength(300_001)
})
