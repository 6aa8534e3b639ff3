import { useQuery } from '@tanstack/react-query'
import { useTRPC } from '../clients.ts'
import { AddNote } from '../notes/add-note.tsx'
import { Note } from '../notes/note.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { PageHeading } from '../ui/page-heading.tsx'
import { Rows } from '../ui/rows.tsx'

export function Notes() {
  const trpc = useTRPC()
  const query = useQuery(trpc.notes.list.queryOptions())
  return (
    <div className="stack">
      <PageHeading title="Notes">Only you can see them. Changes appear in all your browsers.</PageHeading>
      <AddNote />
      <Loaded query={query} what="notes">
        {(notes) => (
          <Rows title="Your notes" empty="No notes yet. Write the first one above.">
            {notes.toReversed().map((note) => (
              <Note key={note.id} {...note} />
            ))}
          </Rows>
        )}
      </Loaded>
    </div>
  )
}
