import { deviceText as words } from '../../../text/device';

/** A dash stands for what the device has not reported. */
export function YesNo({ value }: { value: boolean | null | undefined }) {
  if (value === null || value === undefined) return <span className="soft">–</span>;
  return value ? words.yes : words.no;
}

/** A name, and below it what distinguishes it from others of the same name. */
export function Named({
  name,
  note,
}: {
  name: string | null | undefined;
  note?: string | null | undefined;
}) {
  const isNamed = name !== null && name !== undefined && name !== '';
  return (
    <>
      {isNamed ? name : (note ?? '–')}
      {isNamed && note && <span className="row-note">{note}</span>}
    </>
  );
}
