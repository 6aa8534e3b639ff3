import { Button, Flex } from '@radix-ui/themes'
import { useEffect } from 'react'
import { useAppAuth } from '../clients.ts'
import { PageHeading } from '../ui/page-heading.tsx'
import { Problem } from '../ui/problem.tsx'
import { SignOut } from '../ui/sign-out.tsx'

/** The client itself checks only when the page gets the focus. */
const CHECK_INTERVAL_MS = 3_000

/**
 * Takes the place of every page that needs a user. The session is kept, so the page returns when the ban
 * ends.
 */
export function Banned() {
  return (
    <>
      <PageHeading title="Account banned">
        An admin has banned this account. Your notes and reports are kept, and unfinished reports have
        stopped. This page returns when the ban ends.
      </PageHeading>
      <BanActions />
    </>
  )
}

/** Shown above the pages that need no user. */
export function BanNotice() {
  const { error } = useAppAuth()
  return (
    <>
      <Problem error={error} />
      <BanActions />
    </>
  )
}

function BanActions() {
  const { refresh } = useAppAuth()
  useEffect(() => {
    const timer = setInterval(() => document.hidden || void refresh(), CHECK_INTERVAL_MS)
    return () => clearInterval(timer)
  }, [refresh])
  return (
    <Flex gap="3" my="4">
      <Button onClick={() => void refresh()}>Try again</Button>
      <SignOut />
    </Flex>
  )
}
