/**
 * SQL: the row of the serial number of `p` in the account, as `x`. Looked up one by one, whatever is
 * thought of the table's size: it grows quickly during the first fetch, and a plan that reads all of
 * the account for each page would be slower each time.
 */
export function rowOf(accountId: string): string {
  return `left join lateral (
    select x.* from dep_devices x
    where x.dep_account_id = ${accountId} and x.serial_number = p.serial_number
    limit 1
  ) x on true`;
}
