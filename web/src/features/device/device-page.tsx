import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { text } from '../../text/en.js';
import { Notice } from '../../ui/notice.js';
import { RelativeTime } from '../../ui/relative-time.js';
import { CommandHistory } from './command-history.js';
import { Diagnosis } from './diagnosis.js';
import { LockDialog } from './lock-dialog.js';
import { type Action, device, send } from './queries.js';
import './device-page.css';

const words = text.device;
const FACTS = [
  ...['serial_number', 'udid', 'platform', 'os_version', 'build_version', 'model_name'],
  ...['product_name', 'enrollment_state', 'enrollment_method', 'is_supervised', 'last_seen'],
  ...['asset_tag', 'passcode_present', 'fde_enabled', 'wifi_mac'],
] as const;

export function DevicePage({ id }: { id: number }) {
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery(device(id));
  const action = useMutation({
    ...send,
    onSettled: () => queries.invalidateQueries({ queryKey: ['device', id] }),
  });
  if (error !== null && data === undefined) {
    return (
      <Notice kind="error" lines={[error.message]}>
        <button type="button" onClick={() => void refetch()}>
          {text.retry}
        </button>
      </Notice>
    );
  }
  if (data === undefined) return <Notice lines={[text.loading]} />;
  const facts = (data.attributes ?? {}) as Record<string, unknown>;
  const name = String(facts.device_name ?? facts.serial_number ?? id);
  const run = (request: Action) => action.mutate(request);
  const post = (path: string) => run({ method: 'POST', path, body: null });
  return (
    <article className="device-page">
      <h1>{name}</h1>
      <div className="actions">
        <button type="button" onClick={() => post(`/api/v1/devices/${id}/push`)}>
          {words.push}
        </button>
        <button type="button" onClick={() => post(`/api/v1/devices/inventory/${id}`)}>
          {words.refresh}
        </button>
        <LockDialog id={id} name={name} onConfirm={run} />
      </div>
      {action.error !== null && <p role="alert">{action.error.message}</p>}
      {action.isSuccess && <output>{words.sent}</output>}
      <Diagnosis id={id} onAction={run} />
      <section aria-labelledby="facts-heading">
        <h2 id="facts-heading">{words.facts}</h2>
        <dl>
          {FACTS.map((fact) => (
            <Fact key={fact} name={fact} value={facts[fact]} />
          ))}
        </dl>
      </section>
      <CommandHistory id={id} />
    </article>
  );
}

function Fact({ name, value }: { name: (typeof FACTS)[number]; value: unknown }) {
  if (value === null || value === undefined) return null;
  const shown = typeof value === 'boolean' ? (value ? words.yes : words.no) : String(value);
  return (
    <>
      <dt>{words.labels[name]}</dt>
      <dd>{name === 'last_seen' ? <RelativeTime time={shown} /> : shown}</dd>
    </>
  );
}
