import { Heading, Text } from '@radix-ui/themes'
import type { ReactNode } from 'react'

/** The title of a page and a sentence about it. */
export function PageHeading({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <header className="page-heading">
      <Heading as="h1" size="6">
        {title}
      </Heading>
      {children && (
        <Text as="p" size="2" color="gray">
          {children}
        </Text>
      )}
    </header>
  )
}
