export type Answer = 'Acknowledged' | 'Error' | 'CommandFormatError' | 'NotNow';

export interface ModelCommand {
  uuid: string;
  priority: number;
  /** The request type, if the server queued it by itself. */
  scheduled: string | undefined;
  status: 'Queued' | 'Sent' | 'Expired' | 'Cancelled' | Answer;
  wasSent: boolean;
  /** How many more times it may be sent. */
  ttl: number;
}

const TTL = 5;

/** What the queue of one device promises, in memory: the server has to agree at each step. */
export class QueueModel {
  readonly commands: ModelCommand[] = [];

  add(uuid: string, priority: number, scheduled?: string): void {
    const added = {
      uuid,
      priority,
      scheduled,
      status: 'Queued',
      wasSent: false,
      ttl: TTL,
    } as const;
    this.commands.push({ ...added });
  }

  /** The request types of which no scheduled command waits. */
  schedule(types: readonly string[]): string[] {
    const waiting = this.commands.filter(isPending).map(({ scheduled }) => scheduled);
    return types.filter((type) => !waiting.includes(type));
  }

  get hasWaiting(): boolean {
    return this.commands.some(isPending);
  }

  /** Returns whether it is cancelled now: not where it had another final status. */
  cancel(uuid: string): boolean {
    const command = this.find(uuid);
    if (command !== undefined && isPending(command)) command.status = 'Cancelled';
    return command?.status === 'Cancelled';
  }

  /** A new enrollment ends what waited for the former one. */
  reenroll(): void {
    for (const command of this.commands) if (isPending(command)) command.status = 'Cancelled';
  }

  /** The UUID of the command that Idle is answered with. */
  poll(): string | undefined {
    return this.next({ isIdle: true });
  }

  /** Stores the answer, and returns the UUID of the next command. */
  report(uuid: string, answer: Answer): string | undefined {
    const command = this.find(uuid);
    if (command !== undefined) store(command, answer);
    return this.next({ isIdle: false, except: uuid });
  }

  private next({ isIdle, except }: { isIdle: boolean; except?: string }): string | undefined {
    const waiting = this.commands
      .filter((each) => isPending(each) && each.uuid !== except)
      .filter(({ status }) => isIdle || status !== 'NotNow')
      .sort((a, b) => b.priority - a.priority);
    const [first] = waiting;
    if (first === undefined) return undefined;
    if (first.status === 'Sent' && first.ttl === 0) {
      for (const each of this.commands) {
        if (each.status === 'Sent' && each.ttl === 0) each.status = 'Expired';
      }
      return this.next(except === undefined ? { isIdle } : { isIdle, except });
    }
    first.status = 'Sent';
    first.wasSent = true;
    first.ttl = Math.max(first.ttl - 1, 0);
    return first.uuid;
  }

  private find(uuid: string): ModelCommand | undefined {
    return this.commands.find((each) => each.uuid === uuid);
  }
}

function isPending({ status }: ModelCommand): boolean {
  return ['Queued', 'Sent', 'NotNow'].includes(status);
}

/** An answer also ends a command that was sent before it expired or was cancelled. */
function store(command: ModelCommand, answer: Answer): void {
  const isLate = ['Expired', 'Cancelled'].includes(command.status) && command.wasSent;
  if (!isPending(command) && !(isLate && answer !== 'NotNow')) return;
  if (answer === 'NotNow' && command.status === 'Sent') command.ttl += 1;
  command.status = answer;
}
