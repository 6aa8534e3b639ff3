import { dehydrate } from '@tanstack/react-query'
import { redirect } from 'next/navigation'
import { getPage } from '../../server-page.ts'
import { Hydrated } from '../providers.tsx'
import { Notes } from './notes.tsx'

export default async function NotesPage() {
  const { page, queryClient, trpc } = await getPage()
  if (page.reason === 'ACCOUNT_BANNED') return <p>Account banned</p>
  if (page.state.status === 'unauthenticated') redirect('/sign-in')
  await page.prefetch(queryClient, [trpc.notes.list.queryOptions()])
  return (
    <Hydrated user={page.state} state={dehydrate(queryClient)}>
      <Notes />
    </Hydrated>
  )
}
