/** Creates a secondary storage in memory. */
export function openStorage() {
  const values = new Map<string, string>()
  const take = (key: string) => {
    const value = values.get(key) ?? null
    values.delete(key)
    return value
  }
  return {
    values,
    get: async (key: string) => values.get(key) ?? null,
    set: async (key: string, value: string) => void values.set(key, value),
    delete: async (key: string) => void values.delete(key),
    getAndDelete: async (key: string) => take(key),
    increment: async () => 1,
  }
}
