import { DataList } from '@radix-ui/themes'
import type { ReactNode } from 'react'

/** A list of names and values. Leaves out null. */
export function Facts({ facts }: { readonly facts: Readonly<Record<string, ReactNode>> }) {
  return (
    <DataList.Root className="facts" size="2" orientation={{ initial: 'vertical', sm: 'horizontal' }}>
      {Object.entries(facts).map(
        ([name, value]) =>
          value !== null && (
            <DataList.Item key={name}>
              <DataList.Label>{name}</DataList.Label>
              <DataList.Value>{value}</DataList.Value>
            </DataList.Item>
          ),
      )}
    </DataList.Root>
  )
}
