import {
  AliasNode,
  ColumnNode,
  DeleteQueryNode,
  IdentifierNode,
  InsertQueryNode,
  type JoinNode,
  type KyselyPlugin,
  ListNode,
  type OperationNode,
  OperationNodeTransformer,
  type QueryId,
  ReferenceNode,
  type ReturningNode,
  SelectAllNode,
  SelectionNode,
  SelectQueryNode,
  TableNode,
  UpdateQueryNode,
} from 'kysely'
import type { RenamedTable, RenamedTables } from './own-names.ts'

/**
 * Creates the plugin with which our queries run on an app's own names of `user`, `session`, and `account`. It
 * renames the tables and columns of a query, and selects columns under our names. Columns without a table
 * belong to the tables of the query that have them. Raw SQL is left as it is, except for `sql.ref` and
 * `sql.table`.
 */
export function renamingPlugin(tables: RenamedTables): KyselyPlugin {
  const transformer = new NamesTransformer(tables)
  return {
    transformQuery: ({ node, queryId }) => transformer.transformNode(node, queryId),
    transformResult: async ({ result }) => result,
  }
}

/** The tables of a query by alias; null for one that isn't renamed. */
type Scope = ReadonlyMap<string, RenamedTable | null>

class NamesTransformer extends OperationNodeTransformer {
  readonly #tables: RenamedTables
  /** The innermost query comes last. */
  readonly #scopes: Scope[] = []

  constructor(tables: RenamedTables) {
    super()
    this.#tables = tables
  }

  protected override transformNodeImpl<Node extends OperationNode>(node: Node, queryId?: QueryId): Node {
    const sources = sourcesOf(node)
    if (sources === null) return super.transformNodeImpl(node, queryId)
    this.#scopes.push(new Map(sources.flatMap((source) => this.#aliasOf(source))))
    try {
      return super.transformNodeImpl(node, queryId)
    } finally {
      this.#scopes.pop()
    }
  }

  #aliasOf(source: OperationNode): [alias: string, table: RenamedTable | null][] {
    if (TableNode.is(source)) return [[source.table.identifier.name, this.#renamed(source)]]
    if (!AliasNode.is(source) || !IdentifierNode.is(source.alias)) return []
    return [[source.alias.name, TableNode.is(source.node) ? this.#renamed(source.node) : null]]
  }

  #renamed({ table }: TableNode): RenamedTable | null {
    return table.schema === undefined ? (this.#tables.get(table.identifier.name) ?? null) : null
  }

  /** Finds the table that a column without a table belongs to. */
  #ownerOf(column: string): RenamedTable | null {
    const tables = [...(this.#scopes.at(-1)?.values() ?? [])]
    if (tables.length === 1) return tables[0] ?? null
    return tables.find((table) => table?.columns.has(column)) ?? null
  }

  #tableOf(qualifier: TableNode): RenamedTable | null {
    if (qualifier.table.schema !== undefined) return null
    const alias = qualifier.table.identifier.name
    const scope = this.#scopes.findLast((tables) => tables.has(alias))
    return scope === undefined ? this.#renamed(qualifier) : (scope.get(alias) ?? null)
  }

  protected override transformTable(node: TableNode): TableNode {
    const renamed = this.#renamed(node)
    if (renamed === null) return node
    const { schema, name } = renamed
    return schema === null ? TableNode.create(name) : TableNode.createWithSchema(schema, name)
  }

  protected override transformColumn(node: ColumnNode): ColumnNode {
    return rename(node, this.#ownerOf(node.column.name))
  }

  protected override transformReference(node: ReferenceNode): ReferenceNode {
    const { column, table } = node
    if (table === undefined)
      return ColumnNode.is(column) ? ReferenceNode.create(this.transformColumn(column)) : node
    const isAlias = this.#isAlias(table)
    const qualifier = isAlias ? table : this.transformTable(table)
    if (!ColumnNode.is(column)) return { ...node, table: qualifier }
    return ReferenceNode.create(rename(column, this.#tableOf(table)), qualifier)
  }

  /** Returns whether a qualifier is an alias, which stays as it is. */
  #isAlias({ table: { schema, identifier } }: TableNode): boolean {
    if (schema !== undefined) return true
    const found = this.#scopes.findLast((tables) => tables.has(identifier.name))?.get(identifier.name)
    return found !== undefined && found !== this.#tables.get(identifier.name)
  }

  protected override transformSelectQuery(node: SelectQueryNode, queryId?: QueryId): SelectQueryNode {
    const { selections } = node
    if (selections === undefined) return super.transformSelectQuery(node, queryId)
    return super.transformSelectQuery({ ...node, selections: this.#underOurNames(selections) }, queryId)
  }

  protected override transformReturning(node: ReturningNode, queryId?: QueryId): ReturningNode {
    return super.transformReturning({ ...node, selections: this.#underOurNames(node.selections) }, queryId)
  }

  #underOurNames(selections: readonly SelectionNode[]): SelectionNode[] {
    return selections.flatMap((node) => {
      const { selection } = node
      if (SelectAllNode.is(selection)) return [node, ...this.#allRenamed(undefined)]
      if (!ReferenceNode.is(selection)) return [node]
      const { column, table } = selection
      if (!ColumnNode.is(column)) return [node, ...this.#allRenamed(table)]
      const owner = table === undefined ? this.#ownerOf(column.column.name) : this.#tableOf(table)
      return [owner?.columns.has(column.column.name) ? aliased(selection, column.column.name) : node]
    })
  }

  /** Returns the renamed columns that a `*` also selects, but under the names of the app. */
  #allRenamed(of: TableNode | undefined): SelectionNode[] {
    const scope = this.#scopes.at(-1) ?? new Map<string, RenamedTable | null>()
    const only = of?.table.identifier.name
    return [...scope]
      .filter(([alias]) => only === undefined || alias === only)
      .flatMap(([alias, table]) =>
        [...(table?.columns ?? [])]
          .filter(([column, name]) => column !== name)
          .map(([column]) =>
            aliased(ReferenceNode.create(ColumnNode.create(column), TableNode.create(alias)), column),
          ),
      )
  }
}

function rename(node: ColumnNode, table: RenamedTable | null): ColumnNode {
  const name = table?.columns.get(node.column.name)
  return name === undefined ? node : ColumnNode.create(name)
}

function aliased(reference: ReferenceNode, name: string): SelectionNode {
  return SelectionNode.create(AliasNode.create(reference, IdentifierNode.create(name)))
}

/** Returns the tables that a query reads and writes; null for a node that isn't a query. */
function sourcesOf(node: OperationNode): readonly OperationNode[] | null {
  const joined = (joins: readonly JoinNode[] = []) => joins.map(({ table }) => table)
  if (SelectQueryNode.is(node)) return [...(node.from?.froms ?? []), ...joined(node.joins)]
  if (InsertQueryNode.is(node)) return node.into === undefined ? [] : [node.into]
  if (UpdateQueryNode.is(node)) {
    const table = node.table === undefined ? [] : ListNode.is(node.table) ? node.table.items : [node.table]
    return [...table, ...(node.from?.froms ?? []), ...joined(node.joins)]
  }
  if (DeleteQueryNode.is(node))
    return [...node.from.froms, ...(node.using?.tables ?? []), ...joined(node.joins)]
  return null
}
