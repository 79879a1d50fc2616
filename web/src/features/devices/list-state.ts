/** What shapes the list; it stands in the URL. */
export interface DeviceListState {
  search: string;
  health: string;
  sort: string;
}

const HEALTH = ['ok', 'attention', 'stuck'];
const SORT = /^-?(device_name|serial_number|health|platform|os_version|model_name|last_seen)$/;

/** What is not valid counts as not given. */
export function readListState(search: string): DeviceListState {
  const query = new URLSearchParams(search);
  const health = query.get('health') ?? '';
  const sort = query.get('sort') ?? '';
  return {
    search: (query.get('q') ?? '').slice(0, 200),
    health: HEALTH.includes(health) ? health : '',
    sort: SORT.test(sort) ? sort : '',
  };
}

export function writeListState({ search, health, sort }: DeviceListState): string {
  const given = Object.entries({ q: search, health, sort }).filter(([, value]) => value !== '');
  const query = new URLSearchParams(given).toString();
  return query === '' ? '' : `?${query}`;
}
