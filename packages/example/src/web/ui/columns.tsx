import { Text } from '@radix-ui/themes'
import type { ReactNode } from 'react'

interface ColumnsProps {
  readonly id: string
  readonly values: Readonly<Record<string, ReactNode>>
}

/** Values, each below its name, in as many columns as fit. */
export function Columns({ id, values }: ColumnsProps) {
  return (
    <Text size="2" asChild>
      <dl className="columns" id={id}>
        {Object.entries(values).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Text>
  )
}
