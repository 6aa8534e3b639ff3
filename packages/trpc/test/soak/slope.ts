/** Returns the slope of the line with the least squares of the distances in `y`. */
export function slopeOf(points: readonly { readonly x: number; readonly y: number }[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [meanX, meanY] = [mean(points.map(({ x }) => x)), mean(points.map(({ y }) => y))]
  const products = points.map(({ x, y }) => (x - meanX) * (y - meanY))
  return mean(products) / mean(points.map(({ x }) => (x - meanX) ** 2))
}
