import { Flex, Link, Text } from '@radix-ui/themes'
import { Link as RouterLink, useSearchParams } from 'react-router'

interface PagingProps {
  /** The number of rows on this page. */
  readonly count: number
  readonly nextCursor: string | null
  /** The name of the rows, such as `Users`. */
  readonly title: string
}

/** Links to other pages of a list. The URL has the cursor, so the back button works. */
export function Paging({ count, nextCursor, title }: PagingProps) {
  const [search] = useSearchParams()
  const isFirst = !search.has('cursor')
  const linkTo = (cursor: string | null) => {
    const next = new URLSearchParams(search)
    if (cursor === null) next.delete('cursor')
    else next.set('cursor', cursor)
    return { search: String(next) }
  }
  return (
    <Flex asChild gap="4" align="center">
      <nav aria-label={`Pages of ${title}`}>
        <Text size="2" color="gray" role="status">
          {isFirst
            ? `${title}: ${count}${nextCursor === null ? '' : '+'}`
            : `${title} on this page: ${count}`}
        </Text>
        {!isFirst && (
          <Link asChild size="2" underline="always">
            <RouterLink to={linkTo(null)}>First page</RouterLink>
          </Link>
        )}
        {nextCursor !== null && (
          <Link asChild size="2" underline="always">
            <RouterLink to={linkTo(nextCursor)}>Next page</RouterLink>
          </Link>
        )}
      </nav>
    </Flex>
  )
}
