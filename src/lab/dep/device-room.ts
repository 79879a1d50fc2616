import { ControlFault } from '../wire/control-http.js';

const MOST_OF_SERVER = 200_000;
const MOST_IN_ALL = 400_000;

/** How many devices there are; those that are gone stay in memory, too. */
export interface DeviceCounts {
  ofServer: number;
  inAll: number;
}

/** Throws ControlFault 422 where that many more are too many for one process. */
export function requireRoom({ ofServer, inAll }: DeviceCounts, more: number): void {
  if (ofServer + more > MOST_OF_SERVER)
    throw noRoom('A server of the lab', MOST_OF_SERVER, ofServer);
  if (inAll + more > MOST_IN_ALL) throw noRoom('All servers of the lab', MOST_IN_ALL, inAll);
}

function noRoom(who: string, most: number, there: number): ControlFault {
  const [limit, count] = [most, there].map((number) => number.toLocaleString('en'));
  const message = `${who} may have ${limit} devices, with those that are gone`;
  return new ControlFault(422, `${message}; there are ${count}`);
}
