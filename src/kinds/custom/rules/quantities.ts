// Quantities of resources, as upstream's library has them.
import {
  addQuantities,
  compareQuantities,
  exactInteger,
  isInteger,
  negateQuantity,
  parseQuantity,
  quantityErrors,
  quantityOf,
  signOf,
} from "../../../api/quantity.ts";
import { type Overload, overload } from "./overloads.ts";
import { Fault, type Frame, QuantityValue, type Result } from "./values.ts";

/** Longer texts are none: what is computed with them grows with their digits. */
const charsMax = 64;
/** Exponents reach so far that a sum or comparison takes about as long as so many units. */
const unitsPerOperation = 1000;

function quantityOfText(frame: Frame, text: string): QuantityValue | Fault {
  frame.spend(unitsPerOperation / 4);
  const quantity = text.length > charsMax ? undefined : parseQuantity(text);
  return quantity === undefined ? new Fault(quantityErrors.format) : new QuantityValue(quantity);
}

function comparison(name: string, test: (order: number) => Result, result: string): Overload {
  return overload(`quantity.${name}(quantity): ${result}`, (frame, a: QuantityValue, b: QuantityValue) => {
    frame.spend(unitsPerOperation);
    return test(compareQuantities(a.quantity, b.quantity));
  });
}

function added(frame: Frame, a: QuantityValue, b: QuantityValue, sign: 1 | -1): Result {
  frame.spend(unitsPerOperation);
  const sum = addQuantities(a.quantity, sign === 1 ? b.quantity : negateQuantity(b.quantity));
  return new QuantityValue(sum);
}

const ofInteger = (value: bigint): QuantityValue => new QuantityValue(quantityOf(value, "DecimalSI"));

function asInteger(frame: Frame, { quantity }: QuantityValue): Result {
  frame.spend(unitsPerOperation);
  const value = isInteger(quantity) ? exactInteger(quantity) : undefined;
  if (value === undefined || BigInt.asIntN(64, value) !== value) {
    return new Fault("cannot convert value to integer");
  }
  return value;
}

/** The library of quantities. */
export const quantityFunctions: readonly Overload[] = [
  overload("quantity(string): quantity", quantityOfText),
  overload("isQuantity(string): bool", (frame, text: string) => quantityOfText(frame, text) instanceof QuantityValue),
  overload("quantity.isInteger(): bool", (frame, value: QuantityValue) => !(asInteger(frame, value) instanceof Fault)),
  overload("quantity.asInteger(): int", asInteger),
  overload("quantity.asApproximateFloat(): double", (frame, { quantity }: QuantityValue) => {
    frame.spend(unitsPerOperation);
    return Number(`${quantity.unscaled}e${quantity.scale}`);
  }),
  overload("quantity.sign(): int", (_, { quantity }: QuantityValue) => BigInt(signOf(quantity))),
  overload("quantity.add(quantity): quantity", (frame, a: QuantityValue, b: QuantityValue) => added(frame, a, b, 1)),
  overload("quantity.add(int): quantity", (frame, a: QuantityValue, b: bigint) => added(frame, a, ofInteger(b), 1)),
  overload("quantity.sub(quantity): quantity", (frame, a: QuantityValue, b: QuantityValue) => added(frame, a, b, -1)),
  overload("quantity.sub(int): quantity", (frame, a: QuantityValue, b: bigint) => added(frame, a, ofInteger(b), -1)),
  comparison("isGreaterThan", (order) => order > 0, "bool"),
  comparison("isLessThan", (order) => order < 0, "bool"),
  comparison("compareTo", (order) => BigInt(order), "int"),
];
