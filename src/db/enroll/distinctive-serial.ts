/**
 * SQL: whether a serial number identifies one device. Clones of a virtual Mac share theirs, and some
 * boards have none, or zeros.
 */
export function isDistinctiveSerial(of: {
  serial: string;
  product: string;
  model: string;
}): string {
  return `coalesce(${of.serial} ~ '^[A-Z0-9]{8,}$' and ${of.serial} !~ '^(.)\\1*$'
      and coalesce(${of.product}, '') !~ '^VirtualMac'
      and coalesce(${of.model}, '') !~ '^VirtualMac', false)`;
}
