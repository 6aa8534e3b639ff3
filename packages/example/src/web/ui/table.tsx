import { Table as RadixTable } from '@radix-ui/themes'
import type { ReactNode } from 'react'

interface TableProps {
  /** The name for screen readers. */
  readonly label: string
  readonly columns: readonly string[]
  /** The rows. */
  readonly children: ReactNode
}

/**
 * A compact table. `Table.Root` of Radix Themes adds a scroll area with inline styles, which the
 * Content-Security-Policy forbids; this one scrolls by CSS.
 */
export function Table({ label, columns, children }: TableProps) {
  return (
    <div className="rt-TableRoot rt-r-size-1 rt-variant-surface">
      <div className="table-scroll">
        <table className="rt-TableRootTable" aria-label={label}>
          <RadixTable.Header>
            <RadixTable.Row>
              {columns.map((column) => (
                <RadixTable.ColumnHeaderCell key={column}>{column}</RadixTable.ColumnHeaderCell>
              ))}
            </RadixTable.Row>
          </RadixTable.Header>
          <RadixTable.Body>{children}</RadixTable.Body>
        </table>
      </div>
    </div>
  )
}
