import { useQuery } from '@tanstack/react-query';
import { sentQuery } from '../command-queries';
import { commandsOf, outcomeOf } from './results';

/** What came of a request: that commands are queued, and then what the device made of them. */
export function Sent({ device, answer }: { device: number; answer: unknown }) {
  const ids = commandsOf(answer);
  const statuses = useQuery({ ...sentQuery(device, ids), enabled: ids.length > 0 });
  return outcomeOf(answer, statuses.data);
}
