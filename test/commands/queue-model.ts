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
  /** When it was put off last. */
  putOffAt: number;
  /** When the contact began in which it was sent last. */
  contact: number;
}

const TTL = 5;

interface Message {
  /** When its contact began. */
  contact: number;
  offersPutOff: boolean;
  except?: string;
}

/** What the queue of one device promises, in memory: the server has to agree at each step. */
export class QueueModel {
  readonly commands: ModelCommand[] = [];
  /** Counts the messages of the device. */
  private now = 0;

  add(uuid: string, priority: number, scheduled?: string): void {
    const added = {
      uuid,
      priority,
      scheduled,
      status: 'Queued',
      wasSent: false,
      ttl: TTL,
      putOffAt: 0,
      contact: 0,
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
    this.now += 1;
    return this.next({ contact: this.now, offersPutOff: true });
  }

  /** Stores the answer, and returns the UUID of the next command. */
  report(uuid: string, answer: Answer): string | undefined {
    this.now += 1;
    const command = this.find(uuid);
    if (command !== undefined) store(command, answer, this.now);
    const contact = command?.contact ?? 0;
    return this.next({ contact, offersPutOff: answer !== 'NotNow', except: uuid });
  }

  private next(message: Message): string | undefined {
    const { contact, offersPutOff, except } = message;
    const waiting = this.commands
      .filter((each) => isPending(each) && each.uuid !== except)
      .filter(({ status, putOffAt }) => {
        return status !== 'NotNow' || (offersPutOff && putOffAt < contact);
      })
      .sort((a, b) => b.priority - a.priority);
    const [first] = waiting;
    if (first === undefined) return undefined;
    if (first.status === 'Sent' && first.ttl === 0) {
      for (const each of this.commands) {
        if (each.status === 'Sent' && each.ttl === 0) each.status = 'Expired';
      }
      return this.next(message);
    }
    first.status = 'Sent';
    first.wasSent = true;
    first.contact = contact;
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
function store(command: ModelCommand, answer: Answer, now: number): void {
  const isLate = ['Expired', 'Cancelled'].includes(command.status) && command.wasSent;
  if (!isPending(command) && !(isLate && answer !== 'NotNow')) return;
  if (answer === 'NotNow' && command.status === 'Sent') command.ttl += 1;
  command.status = answer;
  if (answer === 'NotNow') command.putOffAt = now;
}
