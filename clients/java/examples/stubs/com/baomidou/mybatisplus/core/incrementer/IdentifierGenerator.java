package com.baomidou.mybatisplus.core.incrementer;

/** The part of MyBatis-Plus that the example needs, so that it compiles without MyBatis-Plus. */
public interface IdentifierGenerator {
    Number nextId(Object entity);
}
