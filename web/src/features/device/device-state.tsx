import { deviceText } from '../../text/device';
import { Copy } from '../../ui/copy';
import { Status } from '../../ui/status';
import { Time } from '../../ui/time';
import type { Device } from './queries';

const words = deviceText.state;
/** Devices keep no connection: one that has just made contact can be reached. */
const ONLINE_FOR = 120_000;

/** What distinguishes one device from another, and whether the server reaches it. */
export function DeviceState({ device }: { device: Device }) {
  const { model_name: model, product_name: product, serial_number: serial } = device;
  const state = device.enrollment_state ?? '';
  return (
    <dl className="device-state" aria-label={words.label}>
      <Entry label={words.model}>{[model, product].filter(Boolean).join(' · ') || '–'}</Entry>
      <Entry label={words.serial}>
        {serial ? <Copy text={serial} label={deviceText.copy} /> : '–'}
      </Entry>
      <Entry label={words.system}>
        {[device.platform, device.os_version].filter(Boolean).join(' ') || '–'}
      </Entry>
      <Entry label={words.enrollment}>{deviceText.enrollment[state] ?? '–'}</Entry>
      <Entry label={words.contact}>
        {device.last_seen ? <Time at={device.last_seen} /> : words.never}
        {isOnline(device) && <Status tone="ok">{words.online}</Status>}
      </Entry>
    </dl>
  );
}

function Entry({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function isOnline({ last_seen: seen, is_enrolled: isEnrolled }: Device): boolean {
  if (!seen || isEnrolled !== true) return false;
  return Date.now() - Date.parse(seen) < ONLINE_FOR;
}
