"""What of a value from outside is of the shape that a call takes; the rest of it is anything at all."""

from functools import lru_cache
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType, inspect

_SCALARS: dict[type[inspect.Type], tuple[type, ...]] = {
    inspect.StrType: (str,),
    inspect.IntType: (int,),
    inspect.FloatType: (int, float),
    inspect.BoolType: (bool,),
    inspect.NoneType: (type(None),),
}


@lru_cache(maxsize=64)
def shape_of(fields: type[msgspec.Struct]) -> inspect.Type:
    return inspect.type_info(fields)


def fitting(value: object, shape: inspect.Type) -> object | UnsetType:
    """UNSET where nothing of it is. Types alone count: of a number that is too large it is worth knowing."""
    if isinstance(shape, inspect.Metadata):
        return fitting(value, shape.type)
    if isinstance(shape, inspect.UnionType):
        return next((found for each in shape.types if (found := fitting(value, each)) is not UNSET), UNSET)
    if isinstance(shape, inspect.EnumType):
        return value if value in [each.value for each in shape.cls] else UNSET
    if isinstance(shape, inspect.StructType):
        return _members(value, {each.encode_name: each.type for each in shape.fields})
    if isinstance(shape, inspect.DictType):
        return _members(value, dict.fromkeys(value, shape.value_type)) if isinstance(value, dict) else UNSET
    if isinstance(shape, inspect.CollectionType):
        return _items(value, shape.item_type)
    types = _SCALARS.get(type(shape), ())
    is_one = isinstance(value, types) and (bool in types or not isinstance(value, bool))
    return value if is_one else UNSET


def _members(value: object, shapes: dict[str, inspect.Type]) -> dict[str, Any] | UnsetType:
    if not isinstance(value, dict):
        return UNSET
    found = {name: fitting(each, shapes[name]) for name, each in value.items() if name in shapes}
    return {name: each for name, each in found.items() if each is not UNSET}


def _items(value: object, shape: inspect.Type) -> list[Any] | UnsetType:
    if not isinstance(value, list):
        return UNSET
    return [found for each in value if (found := fitting(each, shape)) is not UNSET]
