/** The functions of a history, as signatures for `functions` of a module. */
export function historyFunctions(table: string): readonly string[] {
  return [
    `begin_${table}()`,
    `${table}_horizon()`,
    `${table}_pruned_to()`,
    `prune_${table}(timestamptz, integer)`,
    `record_${table}(boolean)`,
  ];
}
