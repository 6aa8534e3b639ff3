'use client'

import { SignedIn } from '@sallyport/trpc/react'
import { useQuery } from '@tanstack/react-query'
import { useTRPC } from '../providers.tsx'

export function Notes() {
  const trpc = useTRPC()
  const { data = [] } = useQuery(trpc.notes.list.queryOptions())
  return (
    <SignedIn>
      <ul>
        {data.map(({ id, text }) => (
          <li key={id}>{text}</li>
        ))}
      </ul>
    </SignedIn>
  )
}
