import { Card, Text } from '@radix-ui/themes'
import { useQuery } from '@tanstack/react-query'
import { useTRPC } from '../clients.ts'
import { GenerateReport } from '../reports/generate-report.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { PageHeading } from '../ui/page-heading.tsx'
import { Rows } from '../ui/rows.tsx'
import { Time } from '../ui/time.tsx'

export function Reports() {
  const trpc = useTRPC()
  const query = useQuery(trpc.report.list.queryOptions())
  return (
    <div className="stack">
      <PageHeading title="Reports">
        An outside service writes them. A report stops when your session ends or you close this page.
      </PageHeading>
      <GenerateReport />
      <Loaded query={query} what="reports">
        {(reports) => (
          <Rows title="Your reports" empty="No reports yet. Enter a title above to generate one.">
            {reports.toReversed().map(({ id, title, text, createdAt }) => (
              <Card key={id} asChild>
                <li>
                  <Text as="p" weight="medium">
                    {title}
                  </Text>
                  <Text as="p" size="2">
                    {text}
                  </Text>
                  <Text as="p" size="1" color="gray">
                    <Time value={createdAt} />
                  </Text>
                </li>
              </Card>
            ))}
          </Rows>
        )}
      </Loaded>
    </div>
  )
}
