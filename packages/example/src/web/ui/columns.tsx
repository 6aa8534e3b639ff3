import { Text } from '@radix-ui/themes'
import type { ReactNode } from 'react'

/** Values, each under its name, side by side where there is room. */
export function Columns({ values }: { readonly values: Readonly<Record<string, ReactNode>> }) {
  return (
    <Text size="2" asChild>
      <dl className="columns">
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
