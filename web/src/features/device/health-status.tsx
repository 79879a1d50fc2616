import { devicesText } from '../../text/devices';
import { Status, type Tone } from '../../ui/status';

const TONES: Record<string, Tone> = { ok: 'ok', attention: 'warn', stuck: 'bad' };

export function HealthStatus({ health }: { health: string | null | undefined }) {
  if (health === null || health === undefined) return null;
  return <Status tone={TONES[health] ?? 'soft'}>{devicesText.health[health] ?? health}</Status>;
}
