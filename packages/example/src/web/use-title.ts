import { useEffect } from 'react'

/** Sets the title of the document. The server renders the same one. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} – Sallyport`
  }, [title])
}
